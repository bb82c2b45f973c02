package request_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

func params(query string) *request.Params {
	return request.Query(&http.Request{URL: &url.URL{RawQuery: query}})
}

func TestPageLimits(t *testing.T) {
	for query, want := range map[string][2]int{
		"": {50, 0}, "limit=1": {1, 0}, "limit=100": {100, 0}, "limit=101": {100, 0}, "limit=2147483648": {100, 0},
		"limit=9223372036854775807": {100, 0}, "limit=9223372036854775808": {100, 0},
		"limit=100000000000000000000000": {100, 0},
		"offset=0":                       {50, 0}, "offset=7&limit=3": {3, 7}, "offset=2147483648": {50, 2147483648},
	} {
		p := params(query)
		limit, offset := p.Page()
		require.NoError(t, p.Err(), query)
		require.Equal(t, want, [2]int{limit, offset}, query)
	}
	for _, name := range []string{"limit", "offset"} {
		for _, value := range []string{
			"-1", "1.5", "", "%205", "+5", "%2B5", "0x10", "1e2", "5%20", "five", "%D9%A5", "null",
		} {
			p := params(name + "=" + value)
			p.Page()
			kind, field, _ := problem(t, p.Err())
			require.Equal(t, fault.Malformed, kind, value)
			require.Equal(t, name, field, value)
		}
	}
	for _, value := range []string{"0", "-1", "five"} {
		p := params("limit=" + value)
		p.Page()
		_, field, reason := problem(t, p.Err())
		require.Equal(t, "limit", field)
		require.Equal(t, "must be a whole number, at least 1", reason, value)
	}
	p := params("offset=9223372036854775808") // meta.offset could not contain it
	p.Page()
	require.Error(t, p.Err())
}

func TestAnUnknownParameterIsNamedWithTheAllowedOnes(t *testing.T) {
	p := params("nmae=x&limit=5")
	p.String("name")
	p.Family("tag.")
	p.Page()
	var fe *fault.Error
	require.ErrorAs(t, p.Err(), &fe)
	require.Equal(t, fault.Malformed, fe.Kind)
	require.Equal(t, map[string]any{
		"field": "nmae", "reason": "is not a parameter of this route",
		"allowed": []string{"limit", "name", "offset", "tag.<key>"},
	}, fe.Details)
}

func TestParametersThatCannotBeRead(t *testing.T) {
	for query, field := range map[string]string{
		"name=%zz": "name", "name=%": "name", "name=%f": "name", "name=%00": "name", "name=%ff": "name",
		"name=%c0%af": "name",
		"%zz=1":       "query", "%00=1": "query", "name=a&name=b": "name", "NAME=a": "NAME", "name[]=a": "name[]",
	} {
		p := params(query)
		p.String("name")
		kind, got, _ := problem(t, p.Err())
		require.Equal(t, fault.Malformed, kind, query)
		require.Equal(t, field, got, query)
	}
}

func TestParametersOfManyValues(t *testing.T) {
	p := params(
		"metric=a&metric=b%2Cc&type=x,y&type=z&tag.room=1&tag.room=2&tag.a.b=%20&&id=00000000-0000-0000-0000-00000000ABCD",
	)
	require.Equal(t, []string{"a", "b,c"}, p.Strings("metric"))
	require.Equal(t, []string{"x", "y", "z"}, p.List("type"))
	require.Equal(t, map[string][]string{"room": {"1", "2"}, "a.b": {" "}}, p.Family("tag."))
	require.Equal(t, "00000000-0000-0000-0000-00000000abcd", p.UUIDs("id")[0].String())
	require.NoError(t, p.Err())

	require.Equal(t, "00000000-0000-0000-0000-00000000abcd", p.UUID("id").String())
	require.Nil(t, p.UUID("nodeId"))
	require.NoError(t, p.Err())

	p = params("id=nope")
	p.UUIDs("id")
	require.Error(t, p.Err())
	for _, query := range []string{
		"id=", "id=nope", "id=00000000-0000-0000-0000-00000000abcd,00000000-0000-0000-0000-00000000abcd",
	} {
		p = params(query)
		p.UUID("id")
		require.Error(t, p.Err(), query)
	}
	p = params("tag.=1")
	p.Family("tag.")
	require.Error(t, p.Err())
}

func TestSortOrders(t *testing.T) {
	p := params("sort=-createdAt,name")
	require.Equal(
		t, []request.SortField{{Name: "createdAt", Descending: true}, {Name: "name"}}, p.Sort("createdAt", "name"),
	)
	require.NoError(t, p.Err())
	for _, text := range []string{"", "size", "name,-name", "name,", "--name", "NAME", "+name"} {
		p := params("sort=" + url.QueryEscape(text))
		p.Sort("createdAt", "name")
		var fe *fault.Error
		require.ErrorAs(t, p.Err(), &fe, text)
		require.Equal(t, []string{"createdAt", "name"}, fe.Details["allowed"], text)
	}
}

func TestChoices(t *testing.T) {
	p := params("order=desc&strict=true")
	require.Equal(t, "desc", p.OneOf("order", "asc", "asc", "desc"))
	require.True(t, p.Bool("strict"))
	require.False(t, p.Bool("latest"))
	require.Equal(t, 5, p.Int("n", 5, 1, 10))
	require.NoError(t, p.Err())
	p = params("strict=1")
	p.Bool("strict")
	require.Error(t, p.Err())
}

func ExampleQuery() {
	p := request.Query(&http.Request{URL: &url.URL{RawQuery: "limit=500&nmae=pump"}})
	name, _ := p.String("name")
	limit, offset := p.Page()
	fmt.Println(p.Err(), name, limit, offset)
	// Output: nmae: is not a parameter of this route  100 0
}

func FuzzQuery(f *testing.F) {
	f.Add("limit=1&name=%41&tag.a=b")
	f.Fuzz(func(t *testing.T, query string) {
		p := params(query)
		p.String("name")
		p.Family("tag.")
		limit, offset := p.Page()
		if p.Err() == nil && (limit < 1 || limit > 100 || offset < 0) {
			t.Fatal(limit, offset)
		}
	})
}
