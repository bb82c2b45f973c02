package load

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"

	"github.com/google/uuid"
)

const (
	searchPath = "/api/rag/search"
	hybridPath = "/api/rag/hybrid-search"
)

// hit is what a search gives.
type hit struct {
	Node resource
	Path []resource
}

// search looks for something in the words of the tenant. While the load runs anything
// of its own may be found; that nothing of others is, the client sees.
func (t *tenant) search(ctx context.Context, dice *rand.Rand) {
	path := []string{searchPath, hybridPath}[dice.IntN(2)]
	query := []string{"pump", t.canary + " pump", "found by", t.neighbour().canary}[dice.IntN(4)]
	a, err := t.load.client.do(ctx, call{key: t.solo, method: http.MethodPost, path: path, body: body(map[string]any{
		"query": query, "limit": 20,
	})})
	if unknown(a, err) {
		return
	}
	if a.Status != http.StatusOK {
		t.load.wrong.add(13, "a search is refused", "%s %q, %s: %d %s", path, query, a.RequestID, a.Status, a.Error.Message)
	}
}

// find searches and gives the ids of the nodes that were found.
func (t *tenant) find(ctx context.Context, path, query string) (map[uuid.UUID]bool, error) {
	a, err := t.load.client.reach(ctx, call{key: t.solo, method: http.MethodPost, path: path, body: body(map[string]any{
		"query": query, "limit": 100,
	})})
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, errRefused
	}
	var hits []hit
	if err := a.into(&hits); err != nil {
		return nil, err
	}
	found := map[uuid.UUID]bool{}
	for _, h := range hits {
		found[h.Node.ID] = true
	}
	return found, nil
}

// intrusion is what is asked for of another workspace, and how it must be answered.
type intrusion struct {
	call
	want func(*answer) bool
}

// intrusions are all ways to ask for things of another workspace: by its id with one's
// own key, and by the ids of its things in one's own workspace. None may be given.
func (t *tenant) intrusions(other *tenant, node, edge, source, mine uuid.UUID) []intrusion {
	now := map[string]any{"metric": "m0", "timestamp": firstPoint.UnixMilli(), "value": badValue}
	return []intrusion{
		{call{method: http.MethodGet, path: "/api/queries/nodes?limit=5", workspace: other.id}, status(http.StatusForbidden)},
		{
			call{method: http.MethodPost, path: executePath, workspace: other.id, body: body(map[string]any{
				"type": "DELETE_NODE", "payload": map[string]any{"id": node},
			})},
			status(http.StatusForbidden),
		},
		{
			call{method: http.MethodGet, path: "/api/live-data/query?sourceId=" + source.String(), workspace: other.id},
			status(http.StatusForbidden),
		},
		{call{method: http.MethodGet, path: "/api/queries/nodes/" + node.String()}, status(http.StatusNotFound)},
		{call{method: http.MethodGet, path: "/api/queries/edges/" + edge.String()}, status(http.StatusNotFound)},
		{call{method: http.MethodGet, path: "/api/queries/nodes?ids=" + node.String()}, empty},
		{call{method: http.MethodGet, path: "/api/queries/edges?nodeId=" + node.String()}, empty},
		{call{method: http.MethodGet, path: "/api/queries/nodes?name=" + url.QueryEscape(other.canary)}, empty},
		{
			call{method: http.MethodGet, path: "/api/queries/nodes/" + node.String() + "/neighbors"},
			status(http.StatusNotFound),
		},
		{call{method: http.MethodGet, path: "/api/queries/history?limit=20&nodeId=" + node.String()}, nil},
		{call{method: http.MethodGet, path: "/api/live-data/sources/" + source.String()}, status(http.StatusNotFound)},
		{call{method: http.MethodGet, path: "/api/live-data/sources?name=" + other.canary}, empty},
		{call{method: http.MethodGet, path: "/api/live-data/series?limit=50"}, nil},
		{
			call{method: http.MethodGet, path: "/api/live-data/query?from=2026-10-01T00:00:00Z&sourceId=" + source.String()},
			empty,
		},
		{
			call{
				method: http.MethodGet,
				path: "/api/live-data/query?latest=true&from=2026-10-01T00:00:00Z&sourceId=" +
					source.String() + "&sourceId=" + mine.String(),
			},
			nil,
		},
		{
			call{method: http.MethodDelete, path: "/api/live-data/points?sourceId=" + source.String()},
			status(http.StatusNotFound),
		},
		{
			call{method: http.MethodPost, path: "/api/live-data/ingest?strict=true", body: body(map[string]any{
				"sourceId": source, "points": []any{now},
			})},
			status(http.StatusUnprocessableEntity),
		},
		{call{method: http.MethodGet, path: "/api/admin/audit?limit=20"}, nil},
		{call{method: http.MethodGet, path: "/api/admin/usage"}, nil},
		{call{method: http.MethodGet, path: "/api/me"}, status(http.StatusOK)},
	}
}

// pry asks for one thing of another workspace.
func (t *tenant) pry(ctx context.Context, dice *rand.Rand) {
	other := t.neighbour()
	node, edge := other.graph.pick(&other.graph.nodes, dice), other.graph.pick(&other.graph.edges, dice)
	all := t.intrusions(other, node, edge, other.anySource(dice), t.anySource(dice))
	t.intrude(ctx, all[dice.IntN(len(all))])
}

// pryAll asks for everything of another workspace, by a node and an edge that stand there.
func (t *tenant) pryAll(ctx context.Context) {
	other := t.neighbour()
	var node, edge uuid.UUID
	for id, n := range other.past.graph.Nodes {
		if !n.Deleted {
			node = id
			break
		}
	}
	for id, e := range other.past.graph.Edges {
		if !e.Deleted {
			edge = id
			break
		}
	}
	dice := t.load.dice(t.index, "pry all")
	for _, one := range t.intrusions(other, node, edge, other.anySource(dice), t.anySource(dice)) {
		t.intrude(ctx, one)
	}
}

func (t *tenant) intrude(ctx context.Context, one intrusion) {
	one.key, one.foreign = t.admin, true
	a, err := t.load.client.do(ctx, one.call)
	if unknown(a, err) || one.want == nil || one.want(a) {
		return
	}
	t.load.wrong.add(
		10, "something of another workspace is not as if it were not there", "%s %s by key %s of workspace %s, %s: %d %s",
		one.method, one.path, t.admin.id, t.id, a.RequestID, a.Status, clip(a.Body),
	)
}

func status(want int) func(*answer) bool {
	return func(a *answer) bool { return a.Status == want }
}

// empty is a list of nothing.
func empty(a *answer) bool { return a.Status == http.StatusOK && string(a.Data) == "[]" }

// anySource returns the id of a source, a made-up one if there is none.
func (t *tenant) anySource(dice *rand.Rand) uuid.UUID {
	f := formats[dice.IntN(len(formats))]
	t.shelf.mu.Lock()
	defer t.shelf.mu.Unlock()
	if s := t.shelf.current[f]; s != nil {
		return s.id
	}
	return seededID(dice)
}
