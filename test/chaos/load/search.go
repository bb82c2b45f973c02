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

// hit is a result of a search.
type hit struct {
	Node resource
	Path []resource
}

// search sends a search with words of the tenant. While the load runs, any node of the workspace
// may be found; the client checks that nothing of other workspaces is.
func (t *tenant) search(ctx context.Context, dice *rand.Rand) {
	path := []string{searchPath, hybridPath}[dice.IntN(2)]
	query := []string{"pump", t.canary + " pump", "found by", t.neighbour().canary}[dice.IntN(4)]
	a, err := t.load.client.do(ctx, call{key: t.solo, method: http.MethodPost, path: path, body: body(map[string]any{
		"query": query, "limit": 20,
	})})
	if outcomeUnknown(a, err) {
		return
	}
	if a.Status != http.StatusOK {
		t.load.findings.add(
			13, "a search is refused", "%s %q, %s: %d %s", path, query, a.RequestID, a.Status, a.Error.Message,
		)
	}
}

// find searches and returns the ids of the nodes that were found.
func (t *tenant) find(ctx context.Context, path, query string) (map[uuid.UUID]bool, error) {
	a, err := t.load.client.doUntilAnswered(ctx, call{
		key: t.solo, method: http.MethodPost, path: path, body: body(map[string]any{"query": query, "limit": 100}),
	})
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, errRefused
	}
	var hits []hit
	if err := a.decodeData(&hits); err != nil {
		return nil, err
	}
	found := map[uuid.UUID]bool{}
	for _, h := range hits {
		found[h.Node.ID] = true
	}
	return found, nil
}

// crossTenantRequest is a request for data of another workspace, and a check of its answer; nil:
// any answer is allowed.
type crossTenantRequest struct {
	call
	want func(*answer) bool
}

// crossTenantRequests returns requests for data of another workspace in every way: by its workspace
// id with a key of this one, and by the ids of its data in this one. None may return anything.
func (t *tenant) crossTenantRequests(other *tenant, node, edge, source, ownSource uuid.UUID) []crossTenantRequest {
	now := map[string]any{"metric": "m0", "timestamp": firstPoint.UnixMilli(), "value": badValue}
	return []crossTenantRequest{
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
		{call{method: http.MethodGet, path: "/api/queries/nodes?ids=" + node.String()}, emptyList},
		{call{method: http.MethodGet, path: "/api/queries/edges?nodeId=" + node.String()}, emptyList},
		{call{method: http.MethodGet, path: "/api/queries/nodes?name=" + url.QueryEscape(other.canary)}, emptyList},
		{
			call{method: http.MethodGet, path: "/api/queries/nodes/" + node.String() + "/neighbors"},
			status(http.StatusNotFound),
		},
		{
			call{method: http.MethodGet, path: "/api/queries/paths?from=" + node.String() + "&to=" + node.String()},
			status(http.StatusNotFound),
		},
		{call{method: http.MethodGet, path: "/api/queries/history?limit=20&nodeId=" + node.String()}, nil},
		{call{method: http.MethodGet, path: "/api/live-data/sources/" + source.String()}, status(http.StatusNotFound)},
		{call{method: http.MethodGet, path: "/api/live-data/sources?name=" + other.canary}, emptyList},
		{call{method: http.MethodGet, path: "/api/live-data/series?limit=50"}, nil},
		{
			call{method: http.MethodGet, path: "/api/live-data/query?from=2026-10-01T00:00:00Z&sourceId=" + source.String()},
			emptyList,
		},
		{
			call{
				method: http.MethodGet,
				path: "/api/live-data/query?latest=true&from=2026-10-01T00:00:00Z&sourceId=" +
					source.String() + "&sourceId=" + ownSource.String(),
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

// probeOther sends one request for data of another workspace.
func (t *tenant) probeOther(ctx context.Context, dice *rand.Rand) {
	other := t.neighbour()
	node, edge := other.graph.pickID(&other.graph.nodes, dice), other.graph.pickID(&other.graph.edges, dice)
	all := t.crossTenantRequests(other, node, edge, other.anySource(dice), t.anySource(dice))
	t.sendCrossTenant(ctx, all[dice.IntN(len(all))])
}

// probeOtherAll sends all requests for data of another workspace, with a node and an edge that
// exist there.
func (t *tenant) probeOtherAll(ctx context.Context) {
	other := t.neighbour()
	var node, edge uuid.UUID
	for id, n := range other.history.graph.Nodes {
		if !n.Deleted {
			node = id
			break
		}
	}
	for id, e := range other.history.graph.Edges {
		if !e.Deleted {
			edge = id
			break
		}
	}
	dice := t.load.newRand(t.index, "pry all")
	for _, one := range t.crossTenantRequests(other, node, edge, other.anySource(dice), t.anySource(dice)) {
		t.sendCrossTenant(ctx, one)
	}
}

func (t *tenant) sendCrossTenant(ctx context.Context, one crossTenantRequest) {
	one.key, one.errorExpected = t.admin, true
	a, err := t.load.client.do(ctx, one.call)
	if outcomeUnknown(a, err) || one.want == nil || one.want(a) {
		return
	}
	t.load.findings.add(
		10, "something of another workspace is not as if it were not there", "%s %s by key %s of workspace %s, %s: %d %s",
		one.method, one.path, t.admin.id, t.id, a.RequestID, a.Status, clip(a.Body),
	)
}

func status(want int) func(*answer) bool {
	return func(a *answer) bool { return a.Status == want }
}

// emptyList reports whether the answer is an empty list.
func emptyList(a *answer) bool { return a.Status == http.StatusOK && string(a.Data) == "[]" }

// anySource returns the id of a source of the tenant, a random id if there is none.
func (t *tenant) anySource(dice *rand.Rand) uuid.UUID {
	f := formats[dice.IntN(len(formats))]
	t.sources.mu.Lock()
	defer t.sources.mu.Unlock()
	if s := t.sources.current[f]; s != nil {
		return s.id
	}
	return seededID(dice)
}
