package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// injected are texts that a system behind the API might interpret: SQL, a Milvus
// expression, Lua, templates, a spreadsheet, a log.
var injected = append([]string{
	`1; DROP DATABASE default; --`, `') UNION ALL SELECT 1 --`, `id in ["x"] or 1 == 1`, `redis.call('FLUSHALL')`,
	`{{7*7}}<%= 7*7 %>#{7*7}`, `@SUM(1)`, `+1`, `-1`,
	`level=ERROR msg=forged`, `${jndi:ldap://x}`, `a.b['c']["d"]`, `constructor.prototype`, `$(reboot)`, `null`, `NaN`,
	`%s%n%x`, "\ufeffmark", "\u2066isolate\u2069", "Z\u0351\u036b\u0343algo", "ﷺ", "ı", "K",
}, hostile...)

func quoted(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestEveryTextOfASourceComesBackAsItWas(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for i, text := range injected {
		body := map[string]any{
			"name": text, "description": text + "\nlevel=ERROR msg=forged\r\n\t" + text,
			"unit":    string([]rune(text)[:min(len([]rune(text)), 64)]),
			"metrics": []any{map[string]any{"name": text, "unit": "\u202e" + fmt.Sprint(i), "description": text + "\n" + text}},
			"tags":    map[string]any{text: text, "a.b": "", `"quoted"`: "x", "__proto__": text, "constructor": "y"},
		}
		made := l.createSource(t, quoted(t, body))
		patched := decode[map[string]any](
			t, l.Do(t, contract.Request{Method: "PATCH", Path: sourcesPath + "/" + made.ID, Body: quoted(t, body)}),
			http.StatusOK,
		)
		require.InDelta(t, 1, patched["version"], 0, "a change of nothing")
		for field, want := range body {
			require.JSONEq(t, quoted(t, want), quoted(t, patched[field]), "%s of %q", field, text)
		}
		var found []source
		l.Get(t, sourcesPath+"?name="+escape(text)+"&tag."+escape(text)+"="+escape(text), &found)
		require.Contains(t, found, made)
	}
}

func TestNoParameterIsInterpretedAsCode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, text := range append([]string{strings.Repeat("a", 10_000), strings.Repeat("'", 10_000)}, injected...) {
		value := escape(text)
		for path, names := range map[string][]string{
			sourcesPath:              {"name", "tag.x", "tag." + value},
			"/api/live-data/series":  {"source", "metric", "tag.x", "tag." + value},
			"/api/live-data/query":   {"source", "metric", "tag.x", "tag." + value},
			"/api/live-data/query?x": nil,
		} {
			for _, name := range names {
				a := f.Do(t, contract.Request{Path: path + "?" + name + "=" + value})
				require.Equal(t, http.StatusOK, a.Status, "%s %s %.50q: %s", path, name, text, a.Body)
				require.Equal(t, "[]", string(a.Data), "%s %s %.50q", path, name, text)
			}
		}
		for path, names := range map[string][]string{
			sourcesPath:             {"nodeId", "sort", "cursor", "limit", "offset"},
			"/api/live-data/series": {"nodeId", "sourceId", "cursor", "limit", "offset"},
			"/api/live-data/query": {
				"nodeId", "sourceId", "cursor", "limit", "offset", "from", "to", "interval", "timezone", "order", "latest", "epoch",
				"format", "pointsLimit", "checkpoint", "aggregation",
			},
		} {
			for _, name := range names {
				a := f.Do(t, contract.Request{Path: path + "?" + name + "=" + value})
				a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": name})
			}
			a := f.Do(t, contract.Request{Path: path + "?" + value + "=1"})
			require.Equal(t, http.StatusBadRequest, a.Status, "%s %.50q", path, text)
		}
		for _, more := range []string{"aggregation=avg&groupBy=", "aggregation=avg&interval=1m&fill="} {
			a := f.Do(t, contract.Request{Path: "/api/live-data/query?" + more + value})
			if text != "null" && text != "-1" { // which fill accepts
				require.Equal(t, http.StatusBadRequest, a.Status, "%s %.50q: %s", more, text, a.Body)
			}
		}
		a := f.Do(t, contract.Request{
			Path: "/api/live-data/query?aggregation=count&metric=temp&groupBy=tag." + strings.ReplaceAll(value, "%2C", ""),
		})
		require.Equal(t, http.StatusOK, a.Status, "%.50q: %s", text, a.Body)
	}
	require.Len(t, f.query(t, rangeParams(1e9*3600)), 4, "all is still there")
}

// Thousands of parameters, as many as fit into a header, are answered.
func TestManyParametersAreAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	repeat := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()[1:]
	}
	for path, queries := range map[string][]string{
		sourcesPath: {repeat("&tag.%d=x", 4000), repeat("&tag.a=%d", 4000)},
		"/api/live-data/series": {
			repeat("&tag.%d=x", 4000), repeat("&tag.a=%d", 4000), repeat("&metric=%d", 4000),
			repeat("&sourceId=00000000-0000-7000-8000-%012d", 1000),
		},
		"/api/live-data/query": {repeat("&tag.%d=x", 4000), repeat("&metric=%d", 4000), repeat(
			"&sourceId=00000000-0000-7000-8000-%012d", 1000,
		),
			"aggregation=count&metric=temp&" + repeat("&groupBy=tag.%d", 3000),
			"sourceId=" + f.boiler.ID + strings.Repeat(","+f.boiler.ID, 1000)},
	} {
		for _, query := range queries {
			a := f.Do(t, contract.Request{Path: path + "?" + query})
			require.Equal(t, http.StatusOK, a.Status, "%s %.50s: %s", path, query, a.Body)
		}
	}
	for _, name := range []string{"limit", "offset", "cursor", "nodeId"} {
		for _, path := range []string{sourcesPath, "/api/live-data/series", "/api/live-data/query"} {
			a := f.Do(t, contract.Request{Path: path + "?" + repeat("&"+name+"=%d", 2000)})
			a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
				"field": name, "reason": "must not be repeated",
			})
		}
	}
}

// wrongIDs returns texts that are not UUIDs, most of them derived from id.
func wrongIDs(id string) []string {
	return []string{
		"", " ", "x", "{" + id + "}", "(" + id + ")", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""),
		strings.ReplaceAll(id, "-", "_"), id + "0", id[:35], " " + id, id + " ", id + "\n", `"` + id + `"`,
		strings.Repeat("a", 36), "g" + id[1:], strings.Repeat("a", 10_000), "\u202e" + id, "\u200b" + id, "０" + id[1:],
		"' OR '1'='1", "🚀", "null", "0", "../" + id, "%" + id[1:], strings.Replace(id, "-", "‐", 1),
	}
}

func TestAnIdIsAnyUUIDInItsOneForm(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	id := uuid.NewString()
	wrong := wrongIDs(id)
	for _, text := range wrong {
		l.post(t, sourcesPath, `{"name":"a","id":`+quoted(t, text)+`}`).RequireFailure(t, 422, validation, "", map[string]any{
			"field": "id", "reason": "must be a UUID",
		})
		l.post(t, sourcesPath, `{"name":"a","nodeId":`+quoted(t, text)+`}`).RequireFailure(
			t, 422, validation, "", map[string]any{"field": "nodeId", "reason": "must be a UUID"},
		)
		l.post(t, ingestPath, `{"points":[{"sourceId":`+quoted(t, text)+`,"metric":"m","value":1}]}`).RequireFailure(
			t, 422, validation, "", map[string]any{"field": "points[0].sourceId", "rejected": 1.0},
		)
		for _, path := range []string{
			sourcesPath + "?nodeId=", "/api/live-data/series?nodeId=", "/api/live-data/query?nodeId=",
		} {
			l.Do(t, contract.Request{Path: path + escape(text)}).RequireFailure(t, 400, validation, "", map[string]any{
				"field": "nodeId", "reason": "must be a UUID",
			})
		}
		for _, path := range []string{"/api/live-data/series?sourceId=", "/api/live-data/query?sourceId=" + id + "%2C"} {
			l.Do(t, contract.Request{Path: path + escape(text)}).RequireFailure(t, 400, validation, "", map[string]any{
				"field": "sourceId", "reason": "must be a UUID",
			})
		}
		if text == "" || strings.HasPrefix(text, "../") {
			continue // another path
		}
		path := sourcesPath + "/" + strings.ReplaceAll(escape(text), "+", "%20")
		for method, body := range map[string]string{"GET": "", "DELETE": "", "PATCH": `{"name":"b"}`} {
			l.Do(t, contract.Request{
				Method: method, Path: path, Body: body,
			}).RequireFailure(t, 404, "NOT_FOUND", "No such source", nil)
		}
	}
	require.Zero(t, l.Get(t, sourcesPath, &[]source{}).Meta.Total)

	for name, right := range map[string]string{
		"all zeros": uuid.Nil.String(), "all ones": strings.Repeat("f", 8) + "-FFFF-ffff-FFFF-" + strings.Repeat("f", 12),
		"version 4": strings.ToUpper(id),
	} {
		made := l.createSource(t, `{"name":"`+name+`","id":"`+right+`","nodeId":"`+right+`"}`)
		require.Equal(t, strings.ToLower(right), made.ID)
		require.Equal(t, made.ID, *made.NodeID)
		for _, reference := range []string{`"sourceId":"` + right + `"`, `"source":"` + name + `"`} {
			require.Equal(
				t, 1,
				decode[accepted](t, l.post(t, ingestPath, `{"points":[{`+reference+`,"metric":"m","value":1}]}`), 201).Accepted,
				name,
			)
		}
		for _, path := range []string{
			sourcesPath + "?nodeId=" + right, "/api/live-data/series?sourceId=" + right,
			"/api/live-data/query?latest=true&nodeId=" + right,
		} {
			require.EqualValues(t, 1, l.Get(t, path, &[]any{}).Meta.Total, path)
		}
		require.Equal(t, 204, l.Do(t, contract.Request{Method: "DELETE", Path: sourcesPath + "/" + right}).Status)
	}
}

// The path of a field in details is unambiguous, whatever characters the names in it
// contain.
func TestTheFieldOfATagIsNamedUnmistakably(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	for key, field := range map[string]string{
		"plain": "tags.plain", "__proto__": "tags.__proto__", "a.b": `tags["a.b"]`, `q"q`: `tags["q\"q"]`,
		"a[0]": `tags["a[0]"]`, "é": "tags.é",
	} {
		for value, status := range map[string]int{
			`1`: 400, `"` + strings.Repeat("x", 1025) + `"`: 422, `"\u0000"`: 422, `"\u0007"`: 422,
		} {
			tags := `"tags":{` + quoted(t, key) + `:` + value + `}`
			l.post(t, sourcesPath, `{"name":"a",`+tags+`}`).RequireFailure(
				t, status, validation, "", map[string]any{"field": field},
			)
			l.Do(t, contract.Request{
				Method: "PATCH", Path: sourcesPath + "/" + made.ID, Body: `{` + tags + `}`,
			}).RequireFailure(t, status, validation, "", map[string]any{"field": field})
			if value != `"\u0007"` { // a tag value of a point may contain control characters
				l.post(
					t, ingestPath, `{"points":[{"sourceId":"`+made.ID+`","metric":"m","value":1,`+tags+`}]}`,
				).RequireFailure(t, status, validation, "", map[string]any{"field": "points[0]." + field})
			}
		}
	}
	l.post(t, sourcesPath, `{"name":"a","tags":{"":"x"}}`).RequireFailure(
		t, 422, validation, "", map[string]any{"field": `tags[""]`},
	)
	l.post(
		t, ingestPath, `{"points":[{"sourceId":"`+made.ID+`","metric":"m","value":1,"tags":{"":"x"}}]}`,
	).RequireFailure(t, 422, validation, "", map[string]any{"field": `points[0].tags[""]`})
}
