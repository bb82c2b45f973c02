package contract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

const patternsPath = "/api/queries/patterns"

// matchAnswer is the data of an answer with the matches of a pattern.
type matchAnswer struct {
	Matches []struct {
		Nodes map[string]string
		Edges [][]string
		Count int
	}
	Nodes, Edges []resource
	Total        int
	Truncated    bool
}

// rows returns each match as a text: the nodes in the order of names, then the edges, or the count.
func (m *matchAnswer) rows(names string) []string {
	list := make([]string, 0, len(m.Matches))
	for _, match := range m.Matches {
		var parts []string
		for _, name := range strings.Fields(names) {
			parts = append(parts, match.Nodes[name])
		}
		for _, trail := range match.Edges {
			parts = append(parts, strings.Join(trail, "+"))
		}
		if match.Count > 0 {
			parts = append(parts, fmt.Sprint(match.Count))
		}
		list = append(list, strings.Join(parts, " "))
	}
	return list
}

func (g *graphRows) match(t *testing.T, body string) (m matchAnswer) {
	t.Helper()
	answer := g.Do(t, contract.Request{Method: http.MethodPost, Path: patternsPath, Body: body})
	require.Equal(t, http.StatusOK, answer.Status, "%s: %s", body, answer.Body)
	require.NoError(t, json.Unmarshal(answer.Data, &m))
	return m
}

// rows returns the rows of a query of one text column, for a workspace.
func (g *graphRows) rows(t *testing.T, query string) []string {
	t.Helper()
	with := `WITH n AS (SELECT * FROM nodes WHERE workspace_id = $1), e AS (SELECT * FROM edges WHERE workspace_id = $1),
		steps AS (SELECT id, source_id AS a, target_id AS b FROM e
			UNION SELECT id, target_id, source_id FROM e) `
	rows, err := g.conn.Query(t.Context(), with+query, g.Workspace)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

func TestMatchesOfPatternsAreThoseOfJoins(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	rng := rand.New(rand.NewPCG(3, 8))
	var nodes []string
	for i := range 16 {
		kW := rng.IntN(4)
		nodes = append(nodes, g.node(t, g.Workspace, fmt.Sprint("Node ", i), []string{"object", "actor"}[rng.IntN(2)],
			fmt.Sprintf(`{"kW": %d, "site": "s%d", "code": "%02d"}`, kW, kW%2, i)))
	}
	for range 32 {
		g.edge(t, g.Workspace, nodes[rng.IntN(16)], nodes[rng.IntN(16)], []string{"r", "s"}[rng.IntN(2)], `{}`)
	}
	for name, c := range map[string]struct{ names, body, sql string }{
		"a node": {
			"a", `{"nodes": {"a": {"entityTypes": ["actor"], "properties": {"site": ["s0", "s7"]}, "propertyMax": {"kW": 1}}}}`,
			`SELECT id::text FROM n WHERE entity_type = 'actor' AND properties ->> 'site' = 's0'
				AND (properties ->> 'kW')::int <= 1`,
		},
		"bounds of strings and a prefix": {
			"a", `{"nodes": {"a": {"name": "nODE", "propertyMin": {"code": "03"}, "propertyMax": {"code": "12"},
				"propertyPrefix": {"code": "0"}}}}`,
			`SELECT id::text FROM n WHERE properties ->> 'code' BETWEEN '03' AND '09'`,
		},
		"bounds and values have types": {
			"a", `{"nodes": {"a": {"properties": {"kW": "1"}}}}`, `SELECT id::text FROM n WHERE false`,
		},
		"a chain": {
			"a b c", `{"nodes": {"a": {"properties": {"site": "s0"}}, "b": {}, "c": {"entityTypes": ["object"]}},
				"edges": [{"from": "a", "to": "b", "relationTypes": ["r"]}, {"from": "b", "to": "c", "direction": "both"}]}`,
			`SELECT concat_ws(' ', a.id, x.target_id, c.id, x.id, y.id) FROM n a, e x, steps y, n c
				WHERE a.properties ->> 'site' = 's0' AND x.source_id = a.id AND x.relation_type = 'r' AND y.a = x.target_id
				AND y.id <> x.id AND c.id = y.b AND c.entity_type = 'object'`,
		},
		"a triangle": {
			"a b c", `{"nodes": {"a": {}, "b": {}, "c": {}}, "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"},
				{"from": "a", "to": "c", "direction": "in"}]}`,
			`SELECT concat_ws(' ', x.source_id, y.source_id, z.source_id, x.id, y.id, z.id) FROM e x, e y, e z
				WHERE y.source_id = x.target_id AND z.source_id = y.target_id AND z.target_id = x.source_id
				AND x.id <> y.id AND y.id <> z.id AND x.id <> z.id`,
		},
		"one or two edges": {
			"a b", `{"nodes": {"a": {"propertyMin": {"kW": 2}}, "b": {"nodeIds": ["` + nodes[1] + `", "` + nodes[2] + `"]}},
				"edges": [{"from": "a", "to": "b", "maxLength": 2}]}`,
			`SELECT concat_ws(' ', a.id, x.target_id, x.id) FROM n a, e x WHERE (a.properties ->> 'kW')::int >= 2
				AND x.source_id = a.id AND x.target_id IN ('` + nodes[1] + `', '` + nodes[2] + `')
				UNION ALL SELECT concat_ws(' ', a.id, y.target_id, x.id || '+' || y.id) FROM n a, e x, e y
				WHERE (a.properties ->> 'kW')::int >= 2 AND x.source_id = a.id AND y.source_id = x.target_id AND x.id <> y.id
				AND y.target_id IN ('` + nodes[1] + `', '` + nodes[2] + `')`,
		},
		"an absent edge": {
			"a", `{"nodes": {"a": {"entityTypes": ["actor"]}, "b": {"propertyMin": {"kW": 2}}},
				"edges": [{"from": "a", "to": "b", "absent": true}]}`,
			`SELECT id || ' ' FROM n WHERE entity_type = 'actor' AND NOT EXISTS (SELECT FROM e, n b WHERE e.source_id = n.id
				AND b.id = e.target_id AND (b.properties ->> 'kW')::int >= 2)`,
		},
		"counts": {
			"c a", `{"nodes": {"a": {}, "b": {"entityTypes": ["object"]}, "c": {}}, "edges": [{"from": "a", "to": "b"},
				{"from": "b", "to": "c"}], "return": ["c", "a"]}`,
			`SELECT concat_ws(' ', y.target_id, x.source_id, count(*)) FROM e x, n b, e y WHERE b.id = x.target_id
				AND b.entity_type = 'object' AND y.source_id = b.id AND x.id <> y.id GROUP BY y.target_id, x.source_id`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := g.rows(t, c.sql)
			got := g.match(t, strings.TrimSuffix(c.body, "}")+`, "limit": 500}`)
			require.False(t, got.Truncated)
			require.Equal(t, len(want), got.Total)
			require.ElementsMatch(t, want, got.rows(c.names))
			require.Equal(t, len(want) == 0, name == "bounds and values have types", "the case finds something")
			g.requireComplete(t, &got)

			first := g.match(t, strings.TrimSuffix(c.body, "}")+`, "limit": 2}`)
			require.Equal(t, got.rows(c.names)[:min(2, len(want))], first.rows(c.names))
			require.Equal(t, len(want), first.Total)
			g.requireComplete(t, &first)
		})
	}
}

// requireComplete requires that an answer has exactly the nodes and edges of its matches, sorted by id.
func (g *graphRows) requireComplete(t *testing.T, m *matchAnswer) {
	t.Helper()
	var nodes, edges []string
	for _, match := range m.Matches {
		for _, id := range match.Nodes {
			nodes = append(nodes, id)
		}
		edges = append(edges, slices.Concat(match.Edges...)...)
	}
	for ids, list := range map[*[]string][]resource{&nodes: m.Nodes, &edges: m.Edges} {
		slices.Sort(*ids)
		var got []string
		for _, r := range list {
			got = append(got, r.ID)
		}
		require.Equal(t, slices.Compact(*ids), got)
	}
}

func TestPatternsOfOtherWorkspacesAndDeletedNodesMatchNothing(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	a, b := g.node(t, g.Workspace, "a", "object", `{}`), g.node(t, g.Workspace, "b", "object", `{}`)
	g.edge(t, g.Workspace, a, b, "r", `{}`)
	other := g.NewWorkspace(t, "live")
	stranger, friend := g.node(t, other, "secret", "object", `{}`), g.node(t, other, "secret 2", "object", `{}`)
	g.edge(t, other, stranger, friend, "r", `{}`)
	pair := `{"nodes": {"a": {"name": %q}, "b": {}}, "edges": [{"from": "a", "to": "b", "direction": "both"}]}`
	require.Empty(t, g.match(t, fmt.Sprintf(pair, "secret")).Matches)
	require.Empty(t, g.match(t, `{"nodes": {"a": {"nodeIds": ["`+stranger+`"]}}}`).Matches)
	require.Len(t, g.match(t, fmt.Sprintf(pair, "a")).Matches, 1)
	g.exec(t, `UPDATE edges SET deleted = true WHERE workspace_id = $1`, g.Workspace)
	g.deleteNode(t, b)
	require.Empty(t, g.match(t, fmt.Sprintf(pair, "a")).Matches)
	require.Len(t, g.match(t, `{"nodes": {"a": {}}}`).Matches, 1)
}

// TestANodeWithTheZeroIDIsMatched: a client may have chosen it.
func TestANodeWithTheZeroIDIsMatched(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	g.node(t, g.Workspace, "a", "object", `{}`)
	zero := uuid.Nil.String()
	g.exec(t, `UPDATE nodes SET id = $2 WHERE workspace_id = $1`, g.Workspace, zero)
	got := g.match(t, `{"nodes": {"a": {}, "b": {}}, "edges": [{"from": "a", "to": "b", "absent": true}]}`)
	require.Equal(t, []string{zero + " "}, got.rows("a"))
	g.requireComplete(t, &got)
}

func TestPatternsThatBreakARuleAreRefusedAndNameTheField(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	two := `{"nodes": {"a": {}, "b": {}}, "edges": [{"from": "a", "to": "b"%s}]}`
	absent := strings.TrimSuffix(fmt.Sprintf(two, `, "absent": true`), "}")
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("%q", uuid.NewString())
	}
	for body, want := range map[string]struct {
		status int
		field  string
	}{
		`{}`: {400, "nodes"}, `{"nodes": []}`: {400, "nodes"}, `{"nodes": {"a": {}}, "x": 1}`: {400, "x"},
		`{"nodes": {}}`: {422, "nodes"}, `{"nodes": {"a b": {}}}`: {422, "nodes.a b"},
		`{"nodes": {"a": {"entityTypes": ["thing"]}}}`:                                 {422, "nodes.a.entityTypes[0]"},
		`{"nodes": {"a": {"entityTypes": []}}}`:                                        {422, "nodes.a.entityTypes"},
		`{"nodes": {"a": {"nodeIds": []}}}`:                                            {422, "nodes.a.nodeIds"},
		`{"nodes": {"a": {"nodeIds": ["x"]}}}`:                                         {422, "nodes.a.nodeIds[0]"},
		`{"nodes": {"a": {"nodeIds": [` + strings.Join(many, ",") + `]}}}`:             {422, "nodes.a.nodeIds"},
		`{"nodes": {"a": {"name": ""}}}`:                                               {422, "nodes.a.name"},
		`{"nodes": {"a": {"properties": {"k": null}}}}`:                                {422, "nodes.a.properties.k"},
		`{"nodes": {"a": {"properties": {"k": []}}}}`:                                  {422, "nodes.a.properties.k"},
		`{"nodes": {"a": {"propertyMin": {"k": true}}}}`:                               {422, "nodes.a.propertyMin.k"},
		`{"nodes": {"a": {"propertyMax": {"k": [1]}}}}`:                                {422, "nodes.a.propertyMax.k"},
		`{"nodes": {"a": {"propertyPrefix": {"k": 1}}}}`:                               {400, "nodes.a.propertyPrefix.k"},
		`{"nodes": {"a": {}, "b": {}}}`:                                                {422, "edges"},
		fmt.Sprintf(two, `, "absent": true}, {"from": "b", "to": "b", "absent": true`): {422, "edges"},
		`{"nodes": {"a": {}}, "edges": [{"from": "a"}]}`:                               {400, "edges[0].to"},
		`{"nodes": {"a": {}}, "edges": [{"from": "a", "to": "z"}]}`:                    {422, "edges[0].to"},
		fmt.Sprintf(two, `, "relationTypes": []`):                                      {422, "edges[0].relationTypes"},
		fmt.Sprintf(two, `, "relationTypes": [""]`):                                    {422, "edges[0].relationTypes[0]"},
		fmt.Sprintf(two, `, "direction": "up"`):                                        {422, "edges[0].direction"},
		fmt.Sprintf(two, `, "minLength": 0`):                                           {422, "edges[0].minLength"},
		fmt.Sprintf(two, `, "maxLength": 7`):                                           {422, "edges[0].maxLength"},
		fmt.Sprintf(two, `, "minLength": 3, "maxLength": 2`):                           {422, "edges[0].maxLength"},
		`{"nodes": {"a": {}}, "limit": 501}`:                                           {422, "limit"},
		`{"nodes": {"a": {}}, "return": []}`:                                           {422, "return"},
		`{"nodes": {"a": {}}, "return": ["b"]}`:                                        {422, "return[0]"},
		`{"nodes": {"a": {}}, "return": ["a", "a"]}`:                                   {422, "return[1]"},
		absent + `, "return": ["b"]}`:                                                  {422, "return[0]"},
	} {
		answer := g.Do(t, contract.Request{Method: http.MethodPost, Path: patternsPath, Body: body})
		require.Equal(t, want.status, answer.Status, "%s: %s", body, answer.Body)
		require.Equal(t, want.field, answer.Error.Details["field"], body)
	}
}
