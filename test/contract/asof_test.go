package contract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

// pastGraph executes a random history, and remembers after each sequence what the current reads answer.
type pastGraph struct {
	*writer

	rng          *rand.Rand
	nodes, edges []string
	keys         []string
	states       []map[string]string // by sequence: the answers by path
	times        []time.Time         // by sequence: a time after its change and before the next one
}

var pastNeighborQueries = []string{
	"", "depth=3", "depth=2&direction=out&entityType=object", "direction=in&relationType=r1",
}

var pastSubgraphQueries = []string{"depth=3", "depth=2&direction=in&entityType=object", "depth=1&relationType=r1"}

// remember reads all nodes, edges, neighbors and subgraphs.
func (g *pastGraph) remember(t *testing.T) {
	t.Helper()
	state := map[string]string{}
	for _, id := range g.nodes {
		state["nodes/"+id] = g.answer(t, "nodes/"+id, "")
		for _, query := range pastNeighborQueries {
			path := "nodes/" + id + "/neighbors?" + query
			state[path] = g.answer(t, path, "")
		}
		for _, query := range pastSubgraphQueries {
			path := "subgraph?nodeId=" + id + "," + g.nodes[0] + "&" + query
			state[path] = g.answer(t, path, "")
		}
	}
	for _, id := range g.edges {
		state["edges/"+id] = g.answer(t, "edges/"+id, "")
	}
	g.states = append(g.states, state)
	g.times = append(g.times, time.Now())
}

// answer returns the data of an answer in a canonical form, or its status if it is no success. moment is a parameter;
// the sequence in the answer must be the expected one.
func (g *pastGraph) answer(t *testing.T, path, moment string, sequence ...int) string {
	t.Helper()
	a := g.Do(t, contract.Request{Path: queryPath(path, moment)})
	if a.Status != http.StatusOK {
		require.Equal(t, http.StatusNotFound, a.Status, "%s %s", path, a.Body)
		return "404"
	}
	var data any
	require.NoError(t, json.Unmarshal(a.Data, &data))
	switch d := data.(type) {
	case map[string]any:
		if moment != "" {
			require.EqualValues(t, sequence[0], d["asOfSequence"])
		}
		delete(d, "asOfSequence")
		require.NotEqual(t, true, d["truncated"])
	case []any:
		meta := pastMetaOf(t, a)
		require.False(t, meta.Truncated)
		if moment != "" {
			require.Equal(t, sequence[0], meta.AsOfSequence)
		}
		for _, n := range d {
			edges := n.(map[string]any)["edges"].([]any)
			slices.SortFunc(edges, func(a, b any) int {
				return strings.Compare(a.(map[string]any)["id"].(string), b.(map[string]any)["id"].(string))
			})
		}
	}
	text, err := json.Marshal(data)
	require.NoError(t, err)
	return string(text)
}

// queryPath returns the path of a read, with further parameters.
func queryPath(path, parameters string) string {
	if parameters != "" {
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + parameters
	}
	return "/api/queries/" + path
}

// pastMeta has the fields of meta that only some lists have.
type pastMeta struct {
	AsOfSequence int
	Truncated    bool
}

func pastMetaOf(t *testing.T, a *contract.Answer) pastMeta {
	t.Helper()
	var body struct{ Meta pastMeta }
	require.NoError(t, json.Unmarshal(a.Body, &body))
	return body.Meta
}

func (g *pastGraph) pick(ids []string) string { return ids[g.rng.IntN(len(ids))] }

// command returns a random command other than UNDO and REDO.
func (g *pastGraph) command() string {
	property := fmt.Sprintf(`"properties":{"p%d":%d}`, g.rng.IntN(2), g.rng.IntN(100))
	switch n := g.rng.IntN(12); {
	case n == 0 && len(g.nodes) < 8 || len(g.nodes) < 5:
		id := uuid.NewString()
		g.nodes = append(g.nodes, id)
		return fmt.Sprintf(`{"type":"CREATE_NODE","payload":{"id":%q,"name":"n","entityType":%q,%s}}`, id,
			g.pick([]string{"object", "actor"}), property)
	case n < 5 && len(g.edges) < 16 || len(g.edges) == 0:
		id := uuid.NewString()
		g.edges = append(g.edges, id)
		return fmt.Sprintf(`{"type":"CREATE_EDGE","payload":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"r%d",%s}}`,
			id, g.pick(g.nodes), g.pick(g.nodes), g.rng.IntN(2), property)
	case n < 8:
		return updateNode(g.pick(g.nodes), property)
	case n == 8:
		return fmt.Sprintf(`{"type":"UPDATE_EDGE","payload":{"id":%q,"relationType":"r%d",%s}}`,
			g.pick(g.edges), g.rng.IntN(2), property)
	case n == 9:
		return fmt.Sprintf(`{"type":"DELETE_EDGE","payload":{"id":%q}}`, g.pick(g.edges))
	}
	return deleteNode(g.pick(g.nodes))
}

// run executes a random command or batch. Those that are refused change nothing.
func (g *pastGraph) run(t *testing.T) {
	t.Helper()
	request := contract.Request{Method: http.MethodPost, Path: executePath, Key: g.pick(g.keys)}
	switch n := g.rng.IntN(10); {
	case n < 3:
		request.Body = fmt.Sprintf(`{"type":%q,"payload":{"scope":"workspace"}}`, g.pick([]string{"UNDO", "UNDO", "REDO"}))
	case n == 3:
		request.Path = batchPath
		request.Body = `{"commands":[` + g.command() + "," + g.command() + "," + g.command() + `]}`
	default:
		request.Body = g.command()
	}
	a := g.Do(t, request)
	require.Contains(t, []int{200, 201, 404, 409}, a.Status, "%s", a.Body)
	if a.Status >= http.StatusBadRequest {
		return
	}
	var result struct{ Sequence int }
	require.NoError(t, json.Unmarshal(a.Data, &result))
	if request.Path == batchPath {
		var history []change
		g.Get(t, "/api/queries/history?limit=1", &history)
		result.Sequence = int(history[0].Sequence)
	}
	if result.Sequence == len(g.states) {
		g.remember(t)
	}
}

// Each read as of a sequence or a time answers what the read of the current state answered then.
func TestThePastIsReadAsItWas(t *testing.T) {
	t.Parallel()
	g := &pastGraph{writer: startCommands(t), rng: rand.New(rand.NewPCG(1, 7))}
	g.keys = []string{g.newActorKey(t), g.newActorKey(t)}
	g.remember(t)
	for range 80 {
		g.run(t)
	}
	newest := len(g.states) - 1
	require.Greater(t, newest, 40)
	for range testenv.InFull(25, 10) {
		sequence := 1 + g.rng.IntN(newest)
		moment := fmt.Sprintf("asOfSequence=%d", sequence)
		if g.rng.IntN(2) == 0 {
			moment = "asOf=" + g.times[sequence].UTC().Format(time.RFC3339Nano)
		}
		for _, path := range paths(g) {
			want, ok := g.states[sequence][path]
			if !ok {
				want = "404" // it was created later
			}
			require.Equal(t, want, g.answer(t, path, moment, sequence), "%s as of %d", path, sequence)
		}
	}
}

// paths returns a random sample of the paths that the newest state has.
func paths(g *pastGraph) (list []string) {
	for path := range g.states[len(g.states)-1] {
		if g.rng.IntN(3) == 0 {
			list = append(list, path)
		}
	}
	return list
}

func TestBadMomentsAreRefused(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a, b := w.newNode(t, "a"), w.newNode(t, "b")
	edge := w.newEdge(t, a, b)
	reads := []string{"nodes/" + a, "edges/" + edge, "nodes/" + a + "/neighbors", "subgraph?nodeId=" + a}
	for _, path := range reads {
		for query, field := range map[string]string{
			"asOfSequence=0": "asOfSequence", "asOfSequence=-1": "asOfSequence", "asOfSequence=x": "asOfSequence",
			"asOfSequence=": "asOfSequence", "asOfSequence=4": "asOfSequence",
			"asOfSequence=9223372036854775807": "asOfSequence",
			"asOfSequence=1&asOfSequence=2":    "asOfSequence", "asOfSequence=9223372036854775808": "asOfSequence",
			"asOf=yesterday": "asOf", "asOf=": "asOf", "asOf=2026-01-01": "asOf",
			"asOf=2026-01-01T00:00:00Z&asOfSequence=1": "asOf",
		} {
			w.Do(t, contract.Request{Path: queryPath(path, query)}).RequireFailure(
				t, http.StatusBadRequest, validation, "", map[string]any{"field": field},
			)
		}
		for _, query := range []string{"asOf=2020-01-01T00:00:00Z", "asOf=0000-01-01T00:00:00Z"} {
			w.Do(t, contract.Request{Path: queryPath(path, query)}).RequireFailure(
				t, http.StatusNotFound, "NOT_FOUND", "", nil,
			)
		}
		require.Equal(t, http.StatusOK, w.Do(t, contract.Request{
			Path: queryPath(path, "asOf=9999-12-31T23:59:59Z"),
		}).Status)
	}
	w.Do(t, contract.Request{Path: "/api/queries/edges/" + edge + "?asOfSequence=2"}).RequireFailure(
		t, http.StatusNotFound, "NOT_FOUND", "No such edge", nil,
	)
}

func TestThePastOfPurgedNodesIsGone(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a, b, c := w.newNode(t, "a"), w.newNode(t, "b"), w.newNode(t, "c")
	edge, other := w.newEdge(t, a, b), w.newEdge(t, a, c) // sequences 4 and 5
	w.mustExecute(t, deleteNode(b))
	w.mustExecute(t, updateNode(a, `"name":"d"`))
	var found []neighbor
	require.EqualValues(t, 2, w.Get(t, "/api/queries/nodes/"+a+"/neighbors?asOfSequence=5", &found).Meta.Total)
	gone := graphstore.GraphNodeID{Workspace: w.Workspace, Node: uuid.MustParse(b)}
	_, err := w.DB.RequestPurge(t.Context(), gone)
	require.NoError(t, err)
	require.NoError(t, w.DB.PurgeNode(t.Context(), gone))
	reads := []string{"nodes/" + b, "edges/" + edge, "nodes/" + b + "/neighbors", "subgraph?nodeId=" + a + "," + b}
	for _, path := range reads {
		w.Do(t, contract.Request{Path: queryPath(path, "asOfSequence=5")}).RequireFailure(
			t, http.StatusNotFound, "NOT_FOUND", "", map[string]any{"reason": "purged"},
		)
	}
	around := w.Get(t, "/api/queries/nodes/"+a+"/neighbors?asOfSequence=5", &found)
	require.Equal(t, pastMeta{AsOfSequence: 5, Truncated: true}, pastMetaOf(t, around))
	require.Len(t, found, 1)
	require.Equal(t, other, found[0].Edges[0].ID)
	var part subgraphAnswer
	w.Get(t, "/api/queries/subgraph?asOfSequence=5&nodeId="+a, &part)
	require.True(t, part.Truncated)
	require.Equal(t, map[string]int{a: 0, c: 1}, part.depths())
	require.Equal(t, []string{other}, part.edgeIDs())
}

// All pages of a list as of a time are of the same sequence.
func TestPagesOfPastNeighborsAreOfOneSequence(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	hub := w.newNode(t, "hub")
	for _, name := range []string{"a", "b", "c"} {
		w.newEdge(t, hub, w.newNode(t, name))
	}
	path := "/api/queries/nodes/" + hub + "/neighbors?limit=2&asOf=9999-01-01T00:00:00Z"
	var first, second []neighbor
	page := w.Get(t, path, &first)
	w.newEdge(t, hub, w.newNode(t, "d"))
	next := w.Get(t, path+"&cursor="+*nextCursor(t, page), &second)
	require.EqualValues(t, 3, next.Meta.Total)
	require.Equal(t, []string{"a", "b", "c"}, []string{first[0].Node.Name, first[1].Node.Name, second[0].Node.Name})
	w.Do(t, contract.Request{
		Path: "/api/queries/nodes/" + hub + "/neighbors?limit=2&asOfSequence=3&cursor=" + *nextCursor(t, page),
	}).RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "cursor"})
}

// A moment whose state would need too many changes of the journal is refused.
func TestTooLongHistoriesAreRefused(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a, b := w.newNode(t, "a"), w.newNode(t, "b")
	edge := w.newEdge(t, a, b)
	for range 5 {
		w.newEdge(t, a, b)
	}
	w.mustExecute(t, updateNode(a, `"name":"c"`))
	w.mustExecute(t, `{"type":"UPDATE_EDGE","payload":{"id":"`+edge+`","relationType":"r"}}`)
	w.DB.SetPastEntries(4)
	reads := []string{"nodes/" + a, "edges/" + edge, "nodes/" + a + "/neighbors", "subgraph?nodeId=" + a}
	for _, path := range append(reads, "nodes/"+b+"/neighbors", "subgraph?nodeId="+b) { // b has only too many edges
		w.Do(t, contract.Request{Path: queryPath(path, "asOfSequence=8")}).RequireFailure(
			t, http.StatusUnprocessableEntity, validation, "", map[string]any{"reason": "history_too_long"},
		)
	}
	for _, path := range reads {
		short := w.Do(t, contract.Request{Path: queryPath(path, "asOfSequence=3")})
		require.Equal(t, http.StatusOK, short.Status, "%s", short.Body)
	}
}
