package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// The effects of commands are visible at once in every kind of read: of a single node or
// edge, of lists with their totals, of neighbors, of histories, and of streams.
func TestWhatIsCommandedIsReadInEveryWay(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	stream := (&graphRows{Server: w.Server}).openEvents(t, w.Admin, "", nil)
	a, b := w.newNode(t, "ÄPFEL a"), w.newNode(t, "b")
	edge := w.newEdge(t, a, b)
	names := func(query string) (got []string) {
		var list []resource
		total := w.Get(t, "/api/queries/nodes?sort=name&"+query, &list).Meta.Total
		require.Len(t, list, int(total))
		for _, n := range list {
			got = append(got, n.Name)
		}
		return got
	}
	edges := func(query string) int64 {
		var list []resource
		total := w.Get(t, "/api/queries/edges?"+query, &list).Meta.Total
		require.Len(t, list, int(total))
		return total
	}
	require.Equal(t, []string{"b", "ÄPFEL a"}, names(""))
	require.Equal(t, []string{"ÄPFEL a"}, names("name=%C3%A4pfel"))
	require.EqualValues(t, 1, edges("relationType=feeds&nodeId="+b))

	w.mustExecute(t, deleteNode(a))
	require.Equal(t, []string{"b"}, names(""))
	require.Zero(t, edges("relationType=feeds"), "totals of types go down with a cascade")
	var around []neighbor
	require.Zero(t, w.Get(t, "/api/queries/nodes/"+b+"/neighbors", &around).Meta.Total)
	w.mustExecute(t, `{"type":"UNDO"}`)
	require.EqualValues(t, 1, edges("relationType=feeds"))
	w.Get(t, "/api/queries/nodes/"+b+"/neighbors?direction=in", &around)
	require.Equal(t, a, around[0].Node.ID)
	require.Equal(t, edge, around[0].Edges[0].ID)
	var between []pathItem
	w.Get(t, "/api/queries/paths?from="+b+"&to="+a, &between)
	require.Equal(t, edge, between[0].Edges[0].ID)
	w.batch(t, `{"commands":[`+updateNode(a, `"properties":{"k":5}`)+`,`+updateNode(b, `"name":"c"`)+`]}`)
	require.Equal(t, []string{"ÄPFEL a"}, names("property.k=5"))

	want := []string{"CREATE_NODE", "CREATE_NODE", "CREATE_EDGE", "DELETE_NODE", "UNDO", "BATCH"}
	var seen []string
	for range want {
		ev, ok := stream.next()
		require.True(t, ok)
		seen = append(seen, ev.change.Type)
		switch ev.change.Type {
		case "DELETE_NODE":
			require.True(t, ev.change.Node.Deleted)
			require.Equal(t, cascade{Count: 1, Edges: []string{edge}}, *ev.change.Cascade)
		case "UNDO":
			require.Equal(t, cascade{Restored: true, Count: 1, Edges: []string{edge}}, *ev.change.Cascade)
			require.Equal(t, "DELETE_NODE", ev.change.Target.Type)
		case "BATCH":
			require.Equal(t, "c", ev.change.Steps[1].Node.Name)
		}
	}
	require.Equal(t, want, seen)

	var history []change
	require.EqualValues(t, 6, w.Get(t, "/api/queries/history", &history).Meta.Total)
	w.Get(t, "/api/queries/history?nodeId="+a, &history)
	seen = nil
	for _, c := range history {
		seen = append(seen, c.Type)
	}
	require.Equal(t, []string{"BATCH", "UNDO", "DELETE_NODE", "CREATE_EDGE", "CREATE_NODE"}, seen)
	require.Equal(t, "ÄPFEL a", history[0].Node.Name, "of the batch, what touched the node")
}

// A change names the first thousand edges that were deleted with a node; all can be listed.
func TestAllEdgesThatWentWithANodeAreListed(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	hub, other := w.newNode(t, "hub"), w.newNode(t, "other")
	var all []string
	for range 3 {
		var commands []string
		for range 1000 {
			id := uuid.NewString()
			all = append(all, id)
			commands = append(commands, fmt.Sprintf(
				`{"type":"CREATE_EDGE","payload":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"feeds"}}`, id, hub, other,
			))
		}
		w.batch(t, `{"commands":[`+strings.Join(commands, ",")+`]}`)
	}
	gone := all[2999]
	w.mustExecute(t, `{"type":"DELETE_EDGE","payload":{"id":"`+gone+`"}}`)
	all = all[:2999]
	slices.Sort(all)
	w.mustExecute(t, deleteNode(hub))
	w.mustExecute(t, `{"type":"UNDO"}`)
	w.mustExecute(t, deleteNode(hub))

	type portion struct {
		NodeID   string
		Restored bool
		First    int
		Edges    []string
	}
	path := func(sequence any) string { return fmt.Sprintf("/api/queries/history/%v/edges", sequence) }
	for sequence, restored := range map[int]bool{7: false, 8: true, 9: false} {
		var portions []portion
		require.EqualValues(t, 3, w.Get(t, path(sequence), &portions).Meta.Total)
		var named []string
		for _, p := range portions {
			require.Equal(t, len(named), p.First)
			require.Equal(t, hub, p.NodeID)
			require.Equal(t, restored, p.Restored)
			named = append(named, p.Edges...)
		}
		require.Equal(t, all, named)
	}
	var portions []portion
	a := w.Get(t, path(7)+"?limit=2", &portions)
	require.True(t, a.Meta.HasMore)
	require.Len(t, portions, 2)
	cursor := *nextCursor(t, a)
	w.Get(t, path(7)+"?limit=2&cursor="+cursor, &portions)
	require.Len(t, portions, 1)
	require.Equal(t, all[2000:], portions[0].Edges)
	require.Nil(t, nextCursor(t, w.Get(t, path(7)+"?offset=2", &portions)))
	require.Equal(t, all[2000:], portions[0].Edges)
	require.Zero(t, w.Get(t, path(1), &portions).Meta.Total)
	for _, unknown := range []any{10, 0, -1, "x", "99999999999999999999"} {
		w.Do(t, contract.Request{Path: path(unknown)}).RequireFailure(t, 404, "NOT_FOUND", "No such change", nil)
	}
	for query, field := range map[string]string{"cursor=x": "cursor", "limit=0": "limit", "nodeId=" + hub: "nodeId"} {
		w.Do(t, contract.Request{Path: path(7) + "?" + query}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": field},
		)
	}
	w.Do(t, contract.Request{Path: path(8) + "?cursor=" + cursor}).RequireFailure(
		t, 400, validation, "", map[string]any{"field": "cursor"},
	)
}
