package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/request"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

// appendChange appends a change to the journal as the commands consumer does, and returns
// its sequence and the ids of its nodes. Its steps create nodes with the names.
func (g *graphRows) appendChange(t *testing.T, workspace uuid.UUID, names ...string) (sequence int64, ids []string) {
	t.Helper()
	command, actor := uuid.New(), uuid.New()
	c := &eventsv1.Change{
		CommandId: command[:], ActorId: actor[:], Type: "BATCH", AtUs: time.Now().UnixMicro(), RequestId: "req_1",
	}
	for _, name := range names {
		id := uuid.New()
		ids = append(ids, id.String())
		c.Steps = append(c.Steps, &eventsv1.Step{Type: "CREATE_NODE", After: &eventsv1.Step_Node{Node: &eventsv1.Node{
			Id: id[:], Name: name, EntityType: "object",
			Life: &eventsv1.Lifecycle{CreatedAtUs: c.AtUs, UpdatedAtUs: c.AtUs, Version: 1}}}})
	}
	if len(names) == 1 {
		c.Type = "CREATE_NODE"
	}
	tx, err := g.conn.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, tx.QueryRow(t.Context(), `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 1)
		ON CONFLICT (workspace_id) DO UPDATE SET sequence = graph_heads.sequence + 1 RETURNING sequence`,
		workspace).Scan(&sequence))
	c.Sequence = sequence
	raw, err := proto.Marshal(c)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO journal VALUES ($1, $2, $3, now(), $4)`, workspace, sequence, command, raw)
	require.NoError(t, err)
	for _, id := range ids {
		_, err = tx.Exec(t.Context(), `INSERT INTO journal_nodes VALUES ($1, $2, $3)`, workspace, id, sequence)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	return sequence, ids
}

type change struct {
	Sequence int64
	Type     string
	Target   *struct{ Type string }
	Node     *struct {
		resource
		Deleted bool
	}
	Cascade *cascade
	Steps   []struct{ Node resource }
}

type cascade struct {
	Restored bool
	Count    int
	Edges    []string
}

func TestAHistoryHasWhatWasDoneNewestFirst(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	other := g.NewWorkspace(t, "live")
	_, first := g.appendChange(t, g.Workspace, "a")
	_, batch := g.appendChange(t, g.Workspace, "b", "c")
	g.appendChange(t, g.Workspace, "d")
	_, stranger := g.appendChange(t, other, "secret")
	read := func(query string) (list []change) {
		m := g.Get(t, "/api/queries/history?"+query, &list).Meta
		require.EqualValues(t, len(list), m.Total)
		return list
	}
	all := read("")
	require.Equal(t, []int64{3, 2, 1}, []int64{all[0].Sequence, all[1].Sequence, all[2].Sequence})
	require.Equal(t, "d", all[0].Node.Name)
	require.Equal(t, "BATCH", all[1].Type)
	require.Equal(t, "c", all[1].Steps[1].Node.Name)

	require.Equal(t, "a", read("nodeId=" + first[0])[0].Node.Name)
	require.Equal(t, "c", read("nodeId=" + strings.ToUpper(batch[1]))[0].Node.Name, "of the batch, what touched the node")
	require.Empty(t, read("nodeId="+uuid.NewString()))
	require.Empty(t, read("nodeId="+stranger[0]))

	var page []change
	a := g.Get(t, "/api/queries/history?limit=2", &page)
	require.Equal(t, contract.Meta{Total: 3, Limit: 2, HasMore: true}, *a.Meta)
	b := g.Get(t, "/api/queries/history?limit=2&cursor="+*nextCursor(t, a), &page)
	require.Equal(t, contract.Meta{Total: 3, Limit: 2}, *b.Meta)
	require.EqualValues(t, 1, page[0].Sequence)
	g.Get(t, "/api/queries/history?limit=1&offset=1", &page)
	require.EqualValues(t, 2, page[0].Sequence)
	for query, field := range map[string]string{
		"nodeId=": "nodeId", "nodeId=x": "nodeId", "nodeId=" + first[0] + "&nodeId=" + first[0]: "nodeId",
		"sort=name": "sort", "limit=0": "limit", "offset=-1": "offset",
		"cursor=x": "cursor", "nodeId=" + first[0] + "&cursor=" + *nextCursor(t, a): "cursor",
	} {
		g.Do(t, contract.Request{
			Path: "/api/queries/history?" + query,
		}).RequireFailure(t, 400, validation, "", map[string]any{"field": field})
	}
}

func TestAPageOfLargeChangesIsTruncatedAndContinued(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	for range 4 {
		g.appendChange(t, g.Workspace, slices.Repeat([]string{strings.Repeat("x", 512)}, 1200)...)
	}
	var seen []int64
	for path := "/api/queries/history?limit=3"; path != ""; {
		var page []change
		a := g.Get(t, path, &page)
		require.Len(t, page, 1)
		seen = append(seen, page[0].Sequence)
		if path = ""; nextCursor(t, a) != nil {
			path = "/api/queries/history?limit=3&cursor=" + *nextCursor(t, a)
		}
	}
	require.Equal(t, []int64{4, 3, 2, 1}, seen)
}

// eventStream is an open stream of changes.
type eventStream struct {
	*sseReader
	response *http.Response
}

type event struct {
	id     int64
	change change
}

func (g *graphRows) openEvents(t *testing.T, key, query string, header map[string]string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/api/queries/events?"+query, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("x-workspace-id", g.Workspace.String())
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := (&http.Client{}).Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	require.NotEmpty(t, response.Header.Get("X-Request-Id"))
	return &eventStream{sseReader: newSSEReader(t, response.Body), response: response}
}

// next reads the next event. It returns false if the stream has ended.
func (e *eventStream) next() (ev event, ok bool) {
	e.t.Helper()
	name, data, ok := e.event()
	if !ok {
		return ev, false
	}
	require.Equal(e.t, "change", name)
	id, err := strconv.ParseInt(e.id, 10, 64)
	require.NoError(e.t, err)
	ev.id = id
	require.NoError(e.t, json.Unmarshal([]byte(data), &ev.change))
	require.Equal(e.t, ev.id, ev.change.Sequence)
	return ev, true
}

func (e *eventStream) requireIDs(ids ...int64) {
	e.t.Helper()
	for _, id := range ids {
		ev, ok := e.next()
		require.True(e.t, ok)
		require.Equal(e.t, id, ev.id)
	}
}

func TestAStreamHasEachChangeOnceAndResumes(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	g.appendChange(t, g.Workspace, "before")
	live := g.openEvents(t, g.Admin, "", nil)
	g.appendChange(t, g.NewWorkspace(t, "live"), "secret")
	g.appendChange(t, g.Workspace, "a\nb")
	ev, _ := live.next()
	require.EqualValues(t, 2, ev.id, "it begins with the next change")
	require.Equal(t, "a\nb", ev.change.Node.Name)
	for range 600 {
		g.appendChange(t, g.Workspace, "x")
	}
	for id := int64(3); id <= 602; id++ {
		live.requireIDs(id)
	}
	g.openEvents(t, g.Admin, "after=0", nil).requireIDs(1, 2, 3)
	g.openEvents(t, g.Admin, "after=600", nil).requireIDs(601, 602)
	resumed := g.openEvents(t, g.Admin, "after=1", map[string]string{"Last-Event-ID": "601", "Accept-Encoding": "gzip"})
	resumed.requireIDs(602)
	g.appendChange(t, g.Workspace, "y", "z")
	resumed.requireIDs(603)
	live.requireIDs(603)
}

func TestAStreamOfAKeyThatMayNoLongerReadEnds(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	text, key := g.AddKey(
		t, access.NewKey{Mode: "live", Workspaces: []uuid.UUID{g.Workspace}}, request.ReadNodes, request.ReadEdges,
	)
	stream := g.openEvents(t, text, "", nil)
	g.appendChange(t, g.Workspace, "a")
	stream.requireIDs(1)
	_, err := g.DB.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	_, ok := stream.next()
	require.False(t, ok)
	t.Logf("the stream ended %s after its key", time.Since(revoked).Round(time.Millisecond))
}

func TestAStreamOfARevokedKeyEndsThoughItsReaderDoesNotRead(t *testing.T) {
	t.Parallel()
	group := &contract.Graph{Change: func(d *queries.Deps) { d.WriteTimeout = 2 * time.Minute }}
	g := startGraphWith(t, group)
	text, key := g.AddKey(
		t, access.NewKey{Mode: "live", Workspaces: []uuid.UUID{g.Workspace}}, request.ReadNodes, request.ReadEdges,
	)
	g.openUnread(t, text)
	_, err := g.DB.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	revoked := time.Now()
	require.Eventually(t, func() bool { return group.Feed.Streams() == 0 }, time.Minute, time.Millisecond)
	t.Logf("the stream ended %s after its key", time.Since(revoked).Round(time.Millisecond))
}

// openUnread opens a stream with more data than the buffers in between hold, and does not read it.
func (g *graphRows) openUnread(t *testing.T, key string) {
	t.Helper()
	for range 30 {
		g.appendChange(t, g.Workspace, slices.Repeat([]string{strings.Repeat("x", 512)}, 1000)...)
	}
	conn, err := net.Dial("tcp", g.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(
		conn, "GET /api/queries/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nx-workspace-id: %s\r\n\r\n",
		key, g.Workspace,
	)
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
}

func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	cfg := contract.Config()
	s := contract.StartWith(t, cfg, contract.GraphReads)
	g := &graphRows{Server: s}
	stream := g.openEvents(t, g.Admin, "", nil)
	began := time.Now()
	s.Stop()
	_, ok := stream.next()
	require.False(t, ok)
	t.Logf("the server has ended after %s", time.Since(began))
}

// A reader that does not read is disconnected, and its resources are released.
func TestAStreamThatIsNotReadEnds(t *testing.T) {
	t.Parallel()
	group := &contract.Graph{Change: func(d *queries.Deps) { d.WriteTimeout = 200 * time.Millisecond }}
	g := startGraphWith(t, group)
	g.openUnread(t, g.Admin)
	require.Eventually(t, func() bool { return group.Feed.Streams() == 0 }, time.Minute, 10*time.Millisecond)
}

// A graph that was restored from a backup is behind what its readers have seen.
func TestAReaderAheadOfTheJournalIsReset(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	streams := map[*eventStream]int64{} // the sequence of the next change of each
	for newest := range int64(2) {
		for query, header := range map[string]map[string]string{"after=7": nil, "": {"Last-Event-ID": "7"}} {
			stream := g.openEvents(t, g.Admin, query, header)
			name, data, ok := stream.event()
			require.True(t, ok)
			require.Equal(t, "reset", name)
			require.JSONEq(t, fmt.Sprintf(`{"reason": "beyond_newest", "after": 7, "newest": %d}`, newest), data)
			require.Equal(t, strconv.FormatInt(newest, 10), stream.id, "a reader that comes back begins there")
			streams[stream] = newest + 1
		}
		a := g.Do(t, contract.Request{Method: http.MethodHead, Path: "/api/queries/events?after=7"})
		require.Equal(t, http.StatusOK, a.Status)
		g.appendChange(t, g.Workspace, "a")
	}
	for stream, next := range streams {
		stream.requireIDs(next)
	}
}

func TestABadPlaceInAStreamIsRefused(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	g.appendChange(t, g.Workspace, "a")
	for _, text := range []string{"-1", "+1", "1.5", "x", "", "9223372036854775808", "%201"} {
		g.Do(t, contract.Request{
			Path: "/api/queries/events?after=" + text,
		}).RequireFailure(t, 400, validation, "", map[string]any{"field": "after"})
		if text != "" && text != "%201" {
			g.Do(t, contract.Request{Path: "/api/queries/events", Header: map[string]string{"Last-Event-ID": text}}).
				RequireFailure(t, 400, validation, "", map[string]any{"field": "Last-Event-ID"})
		}
	}
	g.Do(t, contract.Request{
		Path: "/api/queries/events?after=0&after=1",
	}).RequireFailure(t, 400, validation, "", map[string]any{"field": "after"})
	g.Do(t, contract.Request{Path: "/api/queries/events?since=1"}).RequireFailure(
		t, 400, validation, "", map[string]any{"field": "since"},
	)
	for _, path := range []string{"/api/queries/events", "/api/queries/history"} {
		for _, scope := range []request.Scope{
			request.ReadNodes, request.ReadEdges, request.WriteNodes, request.ReadLiveData,
		} {
			g.Do(t, contract.Request{Path: path, Key: g.NewKey(t, []uuid.UUID{g.Workspace}, scope)}).
				RequireFailure(
					t, http.StatusForbidden, authorization, "Forbidden", map[string]any{"required": []any{"read:nodes", "read:edges"}},
				)
		}
	}
}

func TestTheStreamsOfAWorkspaceAreLimited(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	for range 100 {
		g.openEvents(t, g.Admin, "", nil)
	}
	a := g.Do(t, contract.Request{Path: "/api/queries/events"})
	a.RequireFailure(t, http.StatusServiceUnavailable, "INTERNAL_ERROR", "Too many streams are open", nil)
	require.NotEmpty(t, a.Header.Get("Retry-After"), fmt.Sprint(a.Header))
}
