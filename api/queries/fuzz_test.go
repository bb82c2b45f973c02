package queries

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// FuzzParameters: a query of the graph is either a page within its bounds or refused with the
// name of a parameter.
func FuzzParameters(f *testing.F) {
	for _, query := range []string{
		"", "limit=101&offset=9223372036854775807&sort=-createdAt,name&entityType=object,actor",
		"ids=0194a5b0-0000-7000-8000-00000000000a,x", "createdAfter=2026-11-21T07:40:08Z&updatedBefore=0000-01-01T00:00:00Z",
		"property.a.b=%00&property.=x", "propertyMin.a=1e3&propertyMax.=x&propertyPrefix.b=%FF&propertyMin.a=2",
		"property.%E2%80%AE=1&name=%25_%5C", "cursor=&offset=1", "sort=--name&limit=0x10",
		"after=18446744073709551615", "format=arrow&limit=10001", "format=csv", "depth=4&direction=up", "%ff=%fe&&&=",
		"from=0194a5b0-0000-7000-8000-00000000000a&to=0194a5b0-0000-7000-8000-00000000000b&maxDepth=10&limit=20&weight=km" +
			"&direction=in&relationType=a%2Cb&entityType=actor",
	} {
		f.Add(query, "")
	}
	f.Add("after=1", "9223372036854775808")
	f.Add("", "+1")
	f.Fuzz(func(t *testing.T, raw, last string) {
		r := &http.Request{URL: &url.URL{RawQuery: raw}, Header: http.Header{}}
		for _, fields := range [][]string{graphread.NodeSortFields(), graphread.EdgeSortFields()} {
			p := request.Query(r)
			p.String("name")
			p.UUIDs("nodeId")
			filter := graphFilter(p)
			types := entityTypes(p)
			page, cursor, format := graphPage(p, r, fields)
			if refused(t, p.Err()) {
				continue
			}
			require.True(t, page.Limit >= 1 && page.Limit <= format.MaxLimit() && page.Offset >= 0)
			require.True(t, page.Limit <= request.MaxLimit || format.IsColumns())
			require.LessOrEqual(t, len(page.Order), len(fields))
			require.NotContains(t, filter.Properties, "")
			require.NotContains(t, filter.Bounds.Min, "")
			require.NotContains(t, filter.Bounds.Prefixes, "")
			require.NotContains(t, types, "")
			require.True(t, cursor == "" || page.Offset == 0)
		}
		if q, err := pathQuery(request.Query(r)); !refused(t, err) {
			require.NotContains(t, q.EntityTypes, "")
			require.True(t, q.MaxDepth >= 1 && q.MaxDepth <= maxPathDepth && q.Limit >= 1 && q.Limit <= maxPaths)
			require.True(t, q.Out || q.In)
		}
		if last != "" {
			r.Header.Set(lastEventID, last)
		}
		after, field, err := startAfter(r)
		if refused(t, err) {
			return
		}
		require.GreaterOrEqual(t, after, int64(0))
		require.True(t, field != "" || after == 0)
	})
}

// FuzzPatternBody: a body is either a connected pattern within its bounds or refused with the name of a field.
func FuzzPatternBody(f *testing.F) {
	for _, body := range []string{
		`{"nodes":{"a":{}}}`, `{"nodes":{}}`, `{"nodes":{"1":{}}}`, `{"nodes":{"a":{},"b":{}}}`,
		`{"nodes":{"a":{"entityTypes":["object"],"name":"x","properties":{"k":["v",1.50,true]}},"b":{}},` +
			`"edges":[{"from":"a","to":"b","relationTypes":["r"],"direction":"both","minLength":1,"maxLength":6}],` +
			`"return":["b"]}`,
		`{"nodes":{"a":{"propertyMin":{"k":1e400},"propertyMax":{"k":"z"},"propertyPrefix":{"k":""}}},"limit":500}`,
		`{"nodes":{"a":{"nodeIds":["0194a5b0-0000-7000-8000-00000000000a"]},"b":{}},` +
			`"edges":[{"from":"b","to":"a","absent":true}],"return":["a","b"]}`,
		`{"nodes":{"a":{"nodeIds":[]}},"edges":[{"from":"a","to":"a","minLength":3,"maxLength":2}]}`,
		`{"nodes":{"a":{"properties":{"k":[]}}},"edges":[{"to":"c","relationTypes":[]}],"return":[],"limit":0}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var body patternBody
		if refused(t, request.DecodeJSON(raw, &body), fault.Invalid) {
			return
		}
		names, q, err := body.query()
		if refused(t, err, fault.Invalid) {
			return
		}
		require.True(t, q.Pattern.Connected())
		require.True(t, len(names) == q.Pattern.Nodes && len(q.Nodes) == len(names) && len(names) <= maxPatternNodes)
		require.True(t, q.Limit >= 1 && q.Limit <= maxPatternLimit)
		for _, e := range q.Pattern.Edges {
			require.True(t, e.MinLength >= 1 && e.MinLength <= e.MaxLength && e.MaxLength <= maxPatternLength)
			require.True(t, e.Out || e.In)
		}
		values := 0
		for i := range q.Nodes {
			require.False(t, q.Nodes[i].IDs != nil && len(q.Nodes[i].IDs) == 0)
			values += valuesOf(&q.Nodes[i])
		}
		require.LessOrEqual(t, values, maxPropertyValues)
		required := q.Pattern.Required()
		for _, node := range q.Return {
			require.True(t, required[node])
		}
	})
}

func refused(t *testing.T, err error, orAs ...fault.Kind) bool {
	t.Helper()
	if err == nil {
		return false
	}
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, append(orAs, fault.Malformed), refusal.Kind)
	require.NotEmpty(t, refusal.Details["field"])
	return true
}
