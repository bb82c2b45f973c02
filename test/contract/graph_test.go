package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

// graphRows inserts rows of the graph directly, for reads of rows that no command of
// this version creates, and with times that the test chooses.
type graphRows struct {
	*contract.Server
	conn *pgx.Conn
}

func startGraph(t *testing.T) *graphRows {
	t.Helper()
	return startGraphWith(t, &contract.Graph{})
}

func startGraphWith(t *testing.T, group *contract.Graph) *graphRows {
	t.Helper()
	s := contract.Start(t, group.Group)
	conn, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return &graphRows{Server: s, conn: conn}
}

func (g *graphRows) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := g.conn.Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}

// node adds a node, created at a unique microsecond, and returns its id.
func (g *graphRows) node(t *testing.T, workspace uuid.UUID, name, entityType, properties string) string {
	t.Helper()
	id := uuid.NewString()
	g.exec(
		t,
		`INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version, changed_by,
			created_by)
		SELECT $1, $2, $3, $4, $5, at, at, 1, 1, 1
		FROM (SELECT '2026-11-21T07:40:08.29Z'::timestamptz + count(*) * interval '1 microsecond' AS at FROM nodes) c`,
		workspace, id, name, entityType, properties,
	)
	g.exec(
		t,
		`INSERT INTO graph_totals VALUES ($1, 1, $2, 1) ON CONFLICT (workspace_id, kind, label) DO UPDATE
			SET standing = graph_totals.standing + 1`,
		workspace, entityType,
	)
	return id
}

func (g *graphRows) edge(t *testing.T, workspace uuid.UUID, source, target, relationType, properties string) string {
	t.Helper()
	id := uuid.NewString()
	g.exec(
		t,
		`INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, properties, created_at, updated_at,
			version, changed_by, created_by, newest)
		SELECT $1, $2, $3, $4, $5, $6, at, at, 1, 1, 1, 1
		FROM (SELECT '2026-11-21T07:40:08.29Z'::timestamptz + count(*) * interval '1 microsecond' AS at FROM edges) c`,
		workspace, id, source, target, relationType, properties,
	)
	g.exec(
		t,
		`INSERT INTO graph_totals VALUES ($1, 2, $2, 1) ON CONFLICT (workspace_id, kind, label) DO UPDATE
			SET standing = graph_totals.standing + 1`,
		workspace, relationType,
	)
	return id
}

func (g *graphRows) deleteNode(t *testing.T, id string) {
	t.Helper()
	g.exec(t, `UPDATE nodes SET deleted = true WHERE id = $1`, id)
	g.exec(
		t,
		`UPDATE graph_totals t SET standing = t.standing - 1 FROM nodes n WHERE n.id = $1 AND t.workspace_id = n.workspace_id
			AND t.kind = 1 AND t.label = n.entity_type`,
		id,
	)
}

func TestANodeAndAnEdgeAreRead(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	id := g.node(
		t, g.Workspace, "Pump", "object", `{"b": [1, {"y": 1.5, "x": true}], "a": "ä\"", "n": 12345678901234567890}`,
	)
	edge := g.edge(t, g.Workspace, id, id, "feeds", `{}`)
	a := g.Do(t, contract.Request{Path: "/api/queries/nodes/" + id})
	require.Equal(t, http.StatusOK, a.Status)
	require.JSONEq(t, `{"id":"`+id+`","name":"Pump","entityType":"object","description":null,
		"properties":{"a":"ä\"","b":[1,{"x":true,"y":1.5}],"n":12345678901234567890},
		"createdAt":"2026-11-21T07:40:08.29Z","updatedAt":"2026-11-21T07:40:08.29Z","version":1}`, string(a.Data))
	require.Contains(t, string(a.Data), "12345678901234567890", "all digits are kept")
	b := g.Do(t, contract.Request{Path: "/api/queries/edges/" + strings.ToUpper(edge)})
	require.JSONEq(t, `{"id":"`+edge+`","sourceId":"`+id+`","targetId":"`+id+`","relationType":"feeds","properties":{},
		"createdAt":"2026-11-21T07:40:08.29Z","updatedAt":"2026-11-21T07:40:08.29Z","version":1}`, string(b.Data))

	for path, tag := range map[string]string{
		"/api/queries/nodes/" + id: a.Header.Get("ETag"), "/api/queries/edges/" + edge: b.Header.Get("ETag"),
	} {
		require.NotEmpty(t, tag)
		for _, header := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
			same := g.Do(t, contract.Request{Path: path, Header: map[string]string{"If-None-Match": header}})
			require.Equal(t, http.StatusNotModified, same.Status, header)
			require.Empty(t, same.Body)
		}
		require.Equal(
			t, http.StatusOK,
			g.Do(t, contract.Request{Path: path, Header: map[string]string{"If-None-Match": `"other"`}}).Status,
		)
	}
	g.exec(t, `UPDATE nodes SET version = 2`)
	require.Equal(
		t, http.StatusOK,
		g.Do(t, contract.Request{
			Path: "/api/queries/nodes/" + id, Header: map[string]string{"If-None-Match": a.Header.Get("ETag")},
		}).Status,
	)
}

func TestWhatDoesNotExistInThisWorkspaceIsNotFound(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	other := g.NewWorkspace(t, "live")
	node, edge := g.node(t, g.Workspace, "gone", "object", `{}`), uuid.NewString()
	stranger := g.node(t, other, "secret", "object", `{}`)
	strange := g.edge(t, other, stranger, stranger, "secret", `{}`)
	g.deleteNode(t, node)
	for _, id := range []string{
		node, edge, stranger, strange, "x", "{" + node + "}", "urn:uuid:" + node, strings.ReplaceAll(node, "-", ""),
		node + "0", "%20" + node, node + "%00",
		strings.Repeat("a", 10_000), "%F0%9F%9A%80", "'%20OR%201=1", "..%2f" + node, uuid.Nil.String(), "%C0%AF",
	} {
		for path, what := range map[string]string{"/api/queries/nodes/": "node", "/api/queries/edges/": "edge"} {
			g.Do(t, contract.Request{Path: path + id}).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "No such "+what, nil)
		}
	}
	var list []resource
	require.Zero(t, g.Get(t, "/api/queries/nodes", &list).Meta.Total)
	require.Empty(t, list)
}

// resource contains the fields of a node or an edge that tests compare.
type resource struct{ ID, Name, EntityType, RelationType string }

func TestNodesAreFilteredByWhatIsMeantLiterally(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	stranger := g.NewWorkspace(t, "live")
	for i, text := range hostile {
		properties, err := json.Marshal(map[string]any{
			"kind": text, text: fmt.Sprint(i % 3), "number": i, "flag": i%2 == 0, "list": []string{text},
		})
		require.NoError(t, err)
		g.node(t, g.Workspace, text, "object", string(properties))
		g.node(t, stranger, text, "object", string(properties))
	}
	g.node(t, g.Workspace, "ÉTAGE Ärger", "actor", `{"a.b":"c","number":"7","":"empty"}`)
	names := func(query string) []string {
		var list []resource
		a := g.Get(t, "/api/queries/nodes?limit=100&sort=name&"+query, &list)
		require.EqualValues(t, len(list), a.Meta.Total, query)
		got := []string{}
		for _, n := range list {
			got = append(got, n.Name)
		}
		return got
	}
	for _, text := range hostile {
		require.Contains(t, names("name="+url.QueryEscape(text)), text)
		require.Equal(t, []string{text}, names("property.kind="+url.QueryEscape(text)))
		require.Contains(
			t,
			names(
				"property."+url.QueryEscape(text)+"=0&property."+url.QueryEscape(text)+"=1&property."+url.QueryEscape(text)+"=2",
			),
			text,
		)
		require.Empty(t, names("property.list="+url.QueryEscape(text)), "a list is not its only element")
	}
	require.Equal(t, []string{"%_\\"}, names("name="+url.QueryEscape(`%_\`)))
	require.Equal(t, []string{"%_\\", "__proto__"}, names("name=_"))
	require.Equal(t, []string{"ÉTAGE Ärger"}, names("name="+url.QueryEscape("étage ä")))
	require.Equal(t, []string{"ÉTAGE Ärger"}, names("property.a.b=c"))
	require.ElementsMatch(t, []string{hostile[7], "ÉTAGE Ärger"}, names("property.number=7"), "a number and a string")
	require.Empty(t, names("property.number=7.0"))
	require.Empty(t, names("property.number=07"))
	require.Len(t, names("property.flag=true"), (len(hostile)+1)/2)
	require.Empty(t, names("property.flag=TRUE"))
	require.Equal(t, []string{"ÉTAGE Ärger"}, names("entityType=actor,process"))
	require.Len(t, names("entityType=actor&entityType=object"), len(hostile)+1)
	require.Equal(t, []string{"ÉTAGE Ärger"}, names(
		"property.number=7&entityType=actor&name=rger&createdAfter=2026-11-21T07:40:08.29Z"+
			"&updatedBefore=2026-11-21T08:40:09%2B01:00",
	))
	require.Empty(t, names("name="+strings.Repeat("x", 10_000)))
	require.Len(t, names("name="), len(hostile)+1)
	for _, text := range hostile {
		require.Contains(t, names("propertyPrefix.kind="+url.QueryEscape(text)), text)
		require.Contains(t, names("propertyPrefix.kind=never&propertyPrefix.kind="+url.QueryEscape(text)), text)
		same := "propertyMin.kind=" + url.QueryEscape(text) + "&propertyMax.kind=" + url.QueryEscape(text)
		require.Equal(t, []string{text}, names(same))
		key := url.QueryEscape(text)
		require.NotContains(t, names("propertyMin."+key+"=0&propertyMax."+key+"=2"), text, "a number bounds no string")
	}
}

func TestEdgesAreFilteredByTheirEnds(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	a, b, c := g.node(t, g.Workspace, "a", "object", `{}`), g.node(t, g.Workspace, "b", "object", `{}`),
		g.node(t, g.Workspace, "c", "object", `{}`)
	ab, ba := g.edge(t, g.Workspace, a, b, "feeds", `{"w":1}`), g.edge(t, g.Workspace, b, a, "a,b", `{"w":2}`)
	cc, bc := g.edge(t, g.Workspace, c, c, "feeds", `{}`), g.edge(t, g.Workspace, b, c, `' OR 1=1 --`, `{}`)
	ids := func(query string) (got []string) {
		var list []resource
		m := g.Get(t, "/api/queries/edges?"+query, &list).Meta
		require.EqualValues(t, len(list), m.Total)
		for _, e := range list {
			got = append(got, e.ID)
		}
		return got
	}
	for query, want := range map[string][]string{
		"":                        {ab, ba, cc, bc},
		"sourceId=" + a:           {ab},
		"sourceId=" + a + "," + b: {ab, ba, bc},
		"targetId=" + strings.ToUpper(a) + "&targetId=" + b: {ab, ba},
		"nodeId=" + a:                                       {ab, ba},
		"nodeId=" + c:                                       {cc, bc},
		"nodeId=" + c + "&relationType=feeds":               {cc},
		"nodeId=" + uuid.NewString():                        nil,
		"relationType=a,b":                                  {ba},
		"relationType=feeds&relationType=a,b":               {ab, ba, cc},
		"relationType=Feeds":                                nil,
		"relationType=" + url.QueryEscape("' OR 1=1 --"):    {bc},
		"ids=" + cc + "," + uuid.NewString() + "&ids=" + ab: {ab, cc},
		"property.w=2":                                      {ba},
		"sort=-createdAt":                                   {bc, cc, ba, ab},
		"sort=relationType,-createdAt":                      {bc, ba, cc, ab},
		"createdAfter=2026-11-21T07:40:08.290001Z&createdBefore=2026-11-21T07:40:08.290002001Z": {cc},
	} {
		require.Equal(t, want, ids(query), query)
	}
}

func TestPagesOfTheGraphAreWalkedByOffsetAndByCursor(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	for i := range 7 {
		g.node(t, g.Workspace, fmt.Sprint("n", i%3), []string{"object", "actor"}[i%2], `{}`)
	}
	for _, sort := range []string{
		"", "&sort=name", "&sort=-entityType,name", "&sort=version,-updatedAt&entityType=object,actor",
	} {
		var all, byOffset, byCursor []resource
		g.Get(t, "/api/queries/nodes?"+sort, &all)
		require.Len(t, all, 7)
		cursor := ""
		for offset := 0; offset < 9; offset += 3 {
			var page []resource
			m := g.Get(t, fmt.Sprint("/api/queries/nodes?limit=3&offset=", offset, sort), &page).Meta
			require.Equal(t, contract.Meta{Total: 7, Limit: 3, Offset: int64(offset), HasMore: offset < 6}, *m)
			byOffset = append(byOffset, page...)
			path := "/api/queries/nodes?limit=3" + sort
			if cursor != "" {
				path += "&cursor=" + cursor
			}
			a := g.Get(t, path, &page)
			require.Equal(t, contract.Meta{Total: 7, Limit: 3, HasMore: offset < 6}, *a.Meta)
			byCursor = append(byCursor, page...)
			cursor = ""
			if next := nextCursor(t, a); next != nil {
				cursor = *next
			}
		}
		require.Empty(t, cursor)
		require.Equal(t, all, byOffset, sort)
		require.Equal(t, all, byCursor, sort)
	}
	var page []resource
	first := *nextCursor(t, g.Get(t, "/api/queries/nodes?limit=1&sort=name", &page))
	g.node(t, g.Workspace, "a new first one", "object", `{}`)
	var rest []resource
	g.Get(t, "/api/queries/nodes?sort=name&cursor="+first, &rest)
	require.NotContains(t, rest, page[0], "a page by cursor stays where it is")
	require.Len(t, rest, 6)
	for _, query := range []string{
		"cursor=" + first, "sort=-name&cursor=" + first, "sort=name&name=n&cursor=" + first,
		"sort=name&offset=1&cursor=" + first,
		"sort=name&cursor=", "sort=name&cursor=x", "sort=name&cursor=" + first + "x",
		"sort=name&cursor=" + first + "&cursor=" + first,
	} {
		g.Do(t, contract.Request{Path: "/api/queries/nodes?" + query}).RequireFailure(
			t, 400, validation, "", map[string]any{"field": "cursor"},
		)
	}
	g.Do(t, contract.Request{
		Path: "/api/queries/edges?cursor=" + first,
	}).RequireFailure(t, 400, validation, "", map[string]any{"field": "cursor"})
	other := g.NewWorkspace(t, "live")
	key := g.NewKey(t, []uuid.UUID{other}, request.Admin)
	g.Do(t, contract.Request{Path: "/api/queries/nodes?sort=name&cursor=" + first, Key: key, Workspace: other.String()}).
		RequireFailure(t, 400, validation, "", map[string]any{"field": "cursor"})
}

// parameter is a query, and the name of its invalid parameter.
type parameter struct{ query, field string }

// badGraphLists returns bad parameters of the lists of nodes and of edges, by path.
func badGraphLists() map[string][]parameter {
	both := []parameter{
		{"limit=0", "limit"}, {"limit=-1", "limit"}, {"limit=1.5", "limit"}, {"limit=", "limit"}, {"limit=%205", "limit"},
		{"limit=%2B5", "limit"}, {"limit=0x10", "limit"},
		{"limit=1&limit=2", "limit"}, {"offset=-1", "offset"}, {"offset=9223372036854775808", "offset"},
		{"offset=1.5", "offset"}, {"offset=", "offset"},
		{"sort=", "sort"}, {"sort=nothing", "sort"}, {"sort=createdAt,createdAt", "sort"},
		{"sort=createdAt,-createdAt", "sort"}, {"sort=id", "sort"}, {"sort=createdat", "sort"},
		{"sort=%2BcreatedAt", "sort"}, {"sort=--createdAt", "sort"}, {"sort=createdAt&sort=version", "sort"},
		{"sort=created_at;DROP%20TABLE%20nodes", "sort"},
		{"ids=", "ids"}, {"ids=x", "ids"}, {"ids=" + uuid.NewString() + ",", "ids"},
		{"ids={" + uuid.NewString() + "}", "ids"},
		{"createdAfter=", "createdAfter"}, {"createdAfter=now", "createdAfter"},
		{"createdAfter=2026-02-30T00:00:00Z", "createdAfter"}, {"createdBefore=2026-11-21", "createdBefore"},
		{"createdBefore=2026-11-21T07:40:08", "createdBefore"}, {"updatedAfter=2026-11-21T07:40:60Z", "updatedAfter"},
		{"updatedBefore=10000-01-01T00:00:00Z", "updatedBefore"},
		{"updatedBefore=1763710808", "updatedBefore"}, {"updatedBefore=2026-11-21T07:40:08+01:00", "updatedBefore"},
		{"updatedAfter=2026-11-21T07:40:08Z&updatedAfter=2026-11-21T07:40:08Z", "updatedAfter"},
		{"propertyMin.=1", "propertyMin."}, {"propertyMax.=1", "propertyMax."}, {"propertyPrefix.=x", "propertyPrefix."},
		{"propertyMin.a=1&propertyMin.a=1", "propertyMin.a"}, {"propertyMax.a=1&propertyMax.a=2", "propertyMax.a"},
		{"propertyMin=1", "propertyMin"}, {"propertymin.a=1", "propertymin.a"},
		{strings.Repeat("propertyMin.y=1&", 2), "propertyMin.y"},
		{"property.=x", "property."}, {"property=x", "property"}, {"properties.a=x", "properties.a"}, {"Name=x", "Name"},
		{"x", "x"}, {"name%00=x", "query"}, {"ids=%C0%AF", "ids"}, {"%zz=1", "query"},
		{strings.Repeat("y", 10_000) + "=1", strings.Repeat("y", 64) + "…"},
	}
	onlyNodes := []parameter{
		{"entityType=", "entityType"}, {"entityType=Object", "entityType"}, {"entityType=object,", "entityType"},
		{"entityType=object&entityType=x", "entityType"},
		{"name=a&name=b", "name"}, {"name=%C0%AF", "name"}, {"relationType=x", "relationType"}, {"sort=relationType", "sort"},
		{"sourceId=" + uuid.NewString(), "sourceId"},
	}
	onlyEdges := []parameter{
		{"sourceId=x", "sourceId"}, {"targetId=", "targetId"}, {"nodeId=x", "nodeId"}, {"entityType=object", "entityType"},
		{"name=x", "name"}, {"sort=name", "sort"},
	}
	return map[string][]parameter{
		"/api/queries/nodes?": slices.Concat(both, onlyNodes), "/api/queries/edges?": slices.Concat(both, onlyEdges),
	}
}

func TestBadParametersOfTheGraphAreNamed(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	for path, queries := range badGraphLists() {
		for _, q := range queries {
			a := g.Do(t, contract.Request{Path: path + q.query})
			require.Equal(t, 400, a.Status, "%s%.100s: %s", path, q.query, a.Body)
			a.RequireFailure(t, 400, validation, "", nil)
			if len(q.field) < 60 {
				require.Equal(t, q.field, a.Error.Details["field"], "%s%.100s", path, q.query)
			}
			require.NotEmpty(t, a.Error.Details["reason"])
		}
	}
	g.Do(t, contract.Request{Path: "/api/queries/nodes?entityType=thing"}).
		RequireFailure(t, 400, validation, "", map[string]any{"field": "entityType", "allowed": []any{
			"concept", "object", "process", "actor",
		}})
	g.Do(t, contract.Request{Path: "/api/queries/nodes?sort=size"}).
		RequireFailure(t, 400, validation, "", map[string]any{"field": "sort", "allowed": []any{
			"createdAt", "updatedAt", "name", "entityType", "version",
		}})
	g.Do(t, contract.Request{Path: "/api/queries/edges?sort=size"}).
		RequireFailure(t, 400, validation, "", map[string]any{"field": "sort", "allowed": []any{
			"createdAt", "updatedAt", "relationType", "version",
		}})
	g.Do(t, contract.Request{
		Path: "/api/queries/nodes/" + uuid.NewString() + "?x=1",
	}).RequireFailure(t, 400, validation, "", map[string]any{"field": "x"})
	var list []resource
	a := g.Get(t, "/api/queries/nodes?limit=101&offset=9223372036854775807", &list)
	require.Equal(t, contract.Meta{Total: 0, Limit: 100, Offset: 9223372036854775807}, *a.Meta)
	require.Equal(t, "[]", string(a.Data))
	require.EqualValues(
		t, 100, g.Get(t, "/api/queries/edges?limit=9223372036854775808&offset=2147483648", &list).Meta.Limit,
	)
}

func TestReadsOfTheGraphRequireTheirScope(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	id := g.node(t, g.Workspace, "a", "object", `{}`)
	edge := g.edge(t, g.Workspace, id, id, "is", `{}`)
	for path, scope := range map[string]request.Scope{
		"/api/queries/nodes": request.ReadNodes, "/api/queries/nodes/" + id: request.ReadNodes,
		"/api/queries/edges": request.ReadEdges, "/api/queries/edges/" + edge: request.ReadEdges,
	} {
		for _, other := range request.Scopes {
			a := g.Do(t, contract.Request{Path: path, Key: g.NewKey(t, []uuid.UUID{g.Workspace}, other)})
			if other == scope || other == request.Admin {
				require.Equal(t, http.StatusOK, a.Status)
				continue
			}
			a.RequireFailure(
				t, http.StatusForbidden, "AUTHORIZATION_ERROR", "Forbidden", map[string]any{"required": []any{string(scope)}},
			)
		}
	}
}
