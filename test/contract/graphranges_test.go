package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

func TestListsAreFilteredByRangesOfProperties(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	stranger := g.NewWorkspace(t, "live")
	for name, properties := range map[string]string{
		"a": `{"w":-2.5,"at":"2026-01-31","serial":"AX-1"}`,
		"b": `{"w":7,"at":"2026-02-01T08:00:00Z","serial":"AX-12"}`,
		"c": `{"w":10000000000000000000,"at":"2026-03","serial":"ax-1"}`,
		"d": `{"w":"7","at":20260201,"serial":["AX-1"]}`,
		"e": `{"w":true,"serial":{"AX-1":1}}`,
	} {
		g.node(t, g.Workspace, name, "object", properties)
		g.node(t, stranger, name, "object", properties)
	}
	ids := map[string]string{}
	var nodes []resource
	g.Get(t, "/api/queries/nodes", &nodes)
	for _, n := range nodes {
		ids[n.Name] = n.ID
	}
	g.edge(t, g.Workspace, ids["a"], ids["b"], "ab", `{"w":1}`)
	g.edge(t, g.Workspace, ids["b"], ids["a"], "ba", `{"w":2,"serial":"X"}`)
	for query, want := range map[string]string{
		"propertyMin.w=7":                                               "b c",
		"propertyMin.w=7.000000001":                                     "c",
		"propertyMin.w=-2.50":                                           "a b c",
		"propertyMin.w=-25e-1&propertyMax.w=7":                          "a b",
		"propertyMax.w=1e400":                                           "a b c",
		"propertyMin.w=1e400":                                           "",
		"propertyMin.w=-1e99999&propertyMax.w=0":                        "a",
		"propertyMin.w=07":                                              "d",
		"propertyMax.w=9999999999999999999":                             "a b",
		"propertyMin.w=10000000000000000000":                            "c",
		"propertyMin.w=0&propertyMin.at=2026-02":                        "b c",
		"propertyMin.at=2026-02&propertyMax.at=~":                       "b c",
		"propertyMin.at=2026-01-31&propertyMax.at=2026-02-01T08:00:00Z": "a b",
		"propertyMin.at=":                                               "a b c",
		"propertyMax.at=":                                               "",
		"propertyMin.at=20260201":                                       "d",
		"propertyMin.none=":                                             "",
		"propertyPrefix.serial=AX-1":                                    "a b",
		"propertyPrefix.serial=AX-12&propertyPrefix.serial=":            "a b c",
		"propertyPrefix.serial=%25X":                                    "",
		"propertyPrefix.serial=A_-1":                                    "",
		"propertyPrefix.serial=AX&property.w=7":                         "b",
		"propertyPrefix.w=7":                                            "d",
		"propertyMin.w=0&limit=1":                                       "b",
	} {
		var list []resource
		a := g.Get(t, "/api/queries/nodes?sort=name&"+query, &list)
		var got []string
		for _, n := range list {
			got = append(got, n.Name)
		}
		require.Equal(t, want, strings.Join(got, " "), query)
		require.Equal(t, strings.HasSuffix(query, "limit=1"), a.Meta.HasMore, query)
	}
	for query, want := range map[string]string{
		"propertyMin.w=2": "ba", "propertyMax.w=2": "ab ba", "propertyMax.w=1&propertyMin.w=1": "ab",
		"propertyPrefix.serial=X": "ba",
	} {
		var list []resource
		g.Get(t, "/api/queries/edges?sort=relationType&"+query, &list)
		var got []string
		for _, e := range list {
			got = append(got, e.RelationType)
		}
		require.Equal(t, want, strings.Join(got, " "), query)
	}
}

// A filter with several values of a property matches any of them, and the number of values is bounded.
func TestFiltersOfPropertiesHaveBoundedValues(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	for i := range 3 {
		id := g.node(t, g.Workspace, fmt.Sprint(i), "object", fmt.Sprintf(`{"k":"v%d"}`, i))
		g.edge(t, g.Workspace, id, id, "r", fmt.Sprintf(`{"k":"v%d"}`, i))
	}
	for _, path := range []string{"/api/queries/nodes?", "/api/queries/edges?"} {
		var list []resource
		require.EqualValues(t, 2, g.Get(t, path+"property.k=v0&property.k=v2", &list).Meta.Total)
		require.EqualValues(t, 2, g.Get(t, path+"propertyPrefix.k=v0&propertyPrefix.k=v2", &list).Meta.Total)
		full := strings.Repeat("property.k=v1&", 100) + strings.Repeat("propertyPrefix.k=v&", 98) + "propertyMin.k=a"
		require.EqualValues(t, 1, g.Get(t, path+full+"&propertyMax.k=z", &list).Meta.Total)
		g.Do(t, contract.Request{Path: path + full + "&propertyMax.k=z&property.l=1"}).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "property."},
		)
	}
}
