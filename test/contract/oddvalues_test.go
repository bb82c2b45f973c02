package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/config"
	"github.com/livegraph/livegraph/internal/telemetry"
	"github.com/livegraph/livegraph/test/contract"
)

// forgery is what would be a header of an answer, or a line of a log, if a text were
// written as it is.
const forgery = "x\r\nSet-Cookie: forged=1\r\n\r\n{\"level\":\"ERROR\",\"msg\":\"forged\"}"

// oddValues are values of parameters that somebody tries.
var oddValues = slices.Concat([]string{
	"", " ", "0", "-1", "1.5", "1e400", "007", "101", "2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551616", "NaN", "true", "null", "[]", "{}", ",", ",,,", "a,b", "*", ".", "..", "/", "%", "\x00", "\xff\xfe", "\ud7ff\ue000",
	"now", "-1h", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1ns", "30d", "auto", "UTC", "id", "name", "-name", "asc", "0194a5b0-0000-7000-8000-00000000000a", forgery, strings.Repeat("9", 400), strings.Repeat("é", 2000),
}, injected)

// oddJSON are values that somebody puts in the place of any other in a body.
func oddJSON() []string {
	list := []string{
		`null`, `true`, `0`, `-0`, `-1`, `1.5`, `1e308`, `1e400`, `9223372036854775807`, `9223372036854775808`, `123456789012345678901234567890`, `""`, `" "`, `"x"`, `"\u0000"`, `"\u0007"`, `"\ud800"`, `"` + strings.Repeat("x", 70_000) + `"`,
		`[]`, `{}`, `[null]`, `[[]]`, `[1,"a",{}]`, `{"":""}`, `{"a":null}`, `{"__proto__":{"x":1},"constructor":1}`, strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat("}", 60), strings.Repeat("[", 60) + strings.Repeat("]", 60),
	}
	for _, text := range append([]string{forgery, "0194a5b0-0000-7000-8000-00000000000a", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"}, injected...) {
		quoted, _ := json.Marshal(text)
		list = append(list, string(quoted))
	}
	return list
}

// loglines is a log that is held against what a log is: a record a line, of JSON, and nothing
// that a caller sent at a line's beginning.
type loglines struct {
	mu      sync.Mutex
	records int
	broken  string
}

func (l *loglines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records++
	var record struct{ Level, Msg string }
	if bytes.Count(p, []byte("\n")) != 1 || json.Unmarshal(p, &record) != nil || record.Msg == "" || record.Msg == "forged" {
		l.broken = string(p)
	}
	return len(p), nil
}

// watchLog has what the process logs held against what a log is, until the test ends.
func watchLog(t *testing.T) *loglines {
	t.Helper()
	old, lines := slog.Default(), &loglines{}
	slog.SetDefault(telemetry.NewLogger(config.Log{Level: "debug", Format: "json"}, lines, func(context.Context) []slog.Attr { return nil }))
	t.Cleanup(func() { slog.SetDefault(old) })
	return lines
}

func (l *loglines) require(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Positive(t, l.records)
	require.Empty(t, l.broken, "no line of a log")
}

// requireNoFailure checks an answer to something odd. Milvus is away: what is right about a
// search may be 503.
func requireNoFailure(t *testing.T, a *contract.Answer, what string) {
	t.Helper()
	require.True(t, a.Status < 500 || a.Status == http.StatusServiceUnavailable && strings.Contains(what, "/api/rag/"), "%.300s: %d %s", what, a.Status, a.Body)
	require.Empty(t, a.Header.Values("Set-Cookie"), "%.300s", what)
}

// base is a request to a route that asks for nothing special, of something that is there
// where the route reads and that is not where it deletes.
func (w *whole) base(t *testing.T, name string, operation *openapi3.Operation) contract.Request {
	t.Helper()
	method, path, _ := strings.Cut(name, " ")
	id := w.node
	switch {
	case method == http.MethodDelete:
		id = unknownID()
	case strings.HasPrefix(path, sourcesPath):
		id = w.source.ID
	case strings.HasPrefix(path, "/api/queries/edges"):
		id = w.edge
	}
	q := contract.Request{Method: method, Path: strings.NewReplacer("{id}", id, "{sequence}", "1", "{asset}", "init.js").Replace(path)}
	if path == "/api/queries/events" || path == streamPath {
		q.Method = http.MethodHead // or it would go on
	}
	if operation.RequestBody != nil && operation.RequestBody.Value.Content["application/json"] != nil {
		bodies := examples(t, operation)
		q.Body = bodies[slices.Sorted(maps.Keys(bodies))[0]]
	}
	return q
}

// Each parameter of each route that the contract has, with each odd value, by itself, twice,
// and as the end of a name: refused or not, it is no failure of ours, forges no header and no
// line of the log. A route that is added is tried, too.
func TestNoValueOfAParameterIsAFailureOfOurs(t *testing.T) {
	w := startWhole(t)
	lines := watchLog(t)
	tried := 0
	try := func(q contract.Request, name, value string) {
		tried++
		requireNoFailure(t, w.Do(t, q), fmt.Sprintf("%s %s %s=%q", q.Method, q.Path, name, value))
	}
	operations := w.PathsOfContract()
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		base := w.base(t, route, operations[route])
		for _, p := range operations[route].Parameters {
			name := strings.Replace(p.Value.Name, "<key>", "k", 1)
			for _, value := range oddValues {
				q := base
				switch p.Value.In {
				case "query":
					q.Path += "?" + name + "=" + escape(value)
					try(q, name, value)
					if family, _, is := strings.Cut(p.Value.Name, "<key>"); is {
						q.Path = base.Path + "?" + family + escape(value) + "=x"
						try(q, family, value)
					}
				case "path":
					if value == "" || value == "." || value == ".." || value == "/" {
						continue // another path
					}
					_, pattern, _ := strings.Cut(route, " ")
					q.Path = strings.Replace(pattern, "{"+p.Value.Name+"}", strings.ReplaceAll(escape(value), "+", "%20"), 1)
					q.Path = strings.NewReplacer("{id}", w.node, "{sequence}", "1").Replace(q.Path)
					try(q, name, value)
				case "header":
					if value == "" || strings.ContainsAny(value, "\x00\r\n\t") {
						continue // no header
					}
					q.Header = map[string]string{name: value}
					try(q, name, value)
				}
			}
			if p.Value.In == "query" && p.Value.Schema.Value.Type.Is("string") && !strings.Contains(p.Value.Name, "<") && !strings.HasPrefix(base.Path, "/api/v") && base.Path != "/write" {
				q := base
				q.Path += "?" + name + "=a&" + name + "=b"
				a := w.Do(t, q)
				require.Equal(t, http.StatusBadRequest, a.Status, "%s: %s", q.Path, a.Body)
			}
		}
	}
	require.Greater(t, tried, 3000)
	w.requireNoFailureOfOurs(t)
	lines.require(t)
}

// replaced gives the JSON value with each value in it, at every depth, in turn replaced by
// odd, each member left out, and one that nobody knows added to each object.
func replaced(value any, odd []string, found func(json.RawMessage)) {
	whole := func(v any) json.RawMessage {
		text, _ := json.Marshal(v) // of what was JSON before
		return text
	}
	for _, text := range odd {
		found(json.RawMessage(text))
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			with := maps.Clone(v)
			replaced(v[name], odd, func(inner json.RawMessage) {
				with[name] = json.RawMessage(mark) // what is odd may be no JSON for the encoder
				found(bytes.Replace(whole(with), []byte(mark), inner, 1))
			})
			delete(with, name)
			found(whole(with))
		}
		with := maps.Clone(v)
		with[forgery] = 1
		found(whole(with))
	case []any:
		for i := range min(len(v), 2) {
			with := slices.Clone(v)
			replaced(v[i], odd, func(inner json.RawMessage) {
				with[i] = json.RawMessage(mark)
				found(bytes.Replace(whole(with), []byte(mark), inner, 1))
			})
		}
	}
}

// mark stands for what is put in its place as it is.
const mark = `"7b3e5f0a-the-place"`

// Each value in each body that the contract shows, in turn replaced by each odd one.
func TestNoValueInABodyIsAFailureOfOurs(t *testing.T) {
	w := startWhole(t)
	lines := watchLog(t)
	odd := oddJSON()
	tried := 0
	operations := w.PathsOfContract()
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		base := w.base(t, route, operations[route])
		if base.Body == "" {
			continue
		}
		for _, body := range examples(t, operations[route]) {
			var value any
			require.NoError(t, json.Unmarshal([]byte(body), &value))
			replaced(value, odd, func(text json.RawMessage) {
				q := base
				q.Body = string(text)
				tried++
				requireNoFailure(t, w.Do(t, q), q.Path+" "+q.Body)
			})
		}
	}
	require.Greater(t, tried, 2000)
	w.requireNoFailureOfOurs(t)
	lines.require(t)
}

// HEAD and OPTIONS of every route: the one as GET without a body or refused as any other
// method, the other with the methods that there are, to whoever has a key.
func TestEveryRouteAnswersHeadAndOptions(t *testing.T) {
	w := startWhole(t)
	operations := w.PathsOfContract()
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		q := w.base(t, route, operations[route])
		method, _, _ := strings.Cut(route, " ")
		q.Body, q.Method = "", http.MethodHead
		a := w.DoUnchecked(t, q)
		require.Empty(t, a.Body, route)
		require.Less(t, a.Status, 500, route)
		_, path, _ := strings.Cut(route, " ")
		_, readable := operations[http.MethodGet+" "+path]
		require.Equal(t, !readable, a.Status == http.StatusMethodNotAllowed, "%s: %d", route, a.Status)
		q.Method = http.MethodOptions
		a = w.DoUnchecked(t, q)
		require.Equal(t, http.StatusNoContent, a.Status, "%s: %s", route, a.Body)
		require.Contains(t, a.Header.Get("Allow"), method)
		require.Contains(t, a.Header.Get("Allow"), http.MethodOptions)
	}
}
