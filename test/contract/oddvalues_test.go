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

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
	"github.com/livegraph/livegraph/test/contract"
)

// forgery is what would be a header of an answer, or a line of a log, if a text were
// written as it is.
const forgery = "x\r\nSet-Cookie: forged=1\r\n\r\n{\"level\":\"ERROR\",\"msg\":\"forged\"}"

// oddValues are values of parameters that somebody tries.
var oddValues = slices.Concat([]string{
	"", " ", "0", "-1", "1.5", "1e400", "007", "101", "2147483648", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", "NaN", "true", "null", "[]", "{}", ",", ",,,", "a,b", "*", ".", "..", "/", "%", "\x00",
	"\xff\xfe", "\ud7ff\ue000",
	"now", "-1h", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999999Z",
	"9999-12-31T23:59:59-23:59", "1ns", "30d", "auto", "UTC", "id", "name", "-name", "asc",
	"0194a5b0-0000-7000-8000-00000000000a", forgery, strings.Repeat("9", 400), strings.Repeat("é", 2000),
}, injected)

// oddJSON are values that somebody puts in the place of any other in a body.
func oddJSON() []string {
	list := []string{
		`null`, `true`, `0`, `-0`, `-1`, `1.5`, `1e308`, `1e400`, `9223372036854775807`, `9223372036854775808`,
		`123456789012345678901234567890`, `""`, `" "`, `"x"`, `"\u0000"`, `"\u0007"`, `"\ud800"`,
		`"` + strings.Repeat("x", 70_000) + `"`,
		`[]`, `{}`, `[null]`, `[[]]`, `[1,"a",{}]`, `{"":""}`, `{"a":null}`, `{"__proto__":{"x":1},"constructor":1}`,
		strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat("}", 60), strings.Repeat("[", 60) + strings.Repeat("]", 60),
	}
	for _, text := range append(
		[]string{forgery, "0194a5b0-0000-7000-8000-00000000000a", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"},
		injected...,
	) {
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
	if bytes.Count(p, []byte("\n")) != 1 || json.Unmarshal(p, &record) != nil || record.Msg == "" ||
		record.Msg == "forged" {
		l.broken = string(p)
	}
	return len(p), nil
}

// watchLog has what the process logs held against what a log is, until the test ends.
func watchLog(t *testing.T) *loglines {
	t.Helper()
	old, lines := slog.Default(), &loglines{}
	slog.SetDefault(telemetry.NewLogger(
		config.Log{Level: "debug", Format: "json"}, lines, func(context.Context) []slog.Attr { return nil },
	))
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

// tries are odd requests, whose answers are held against what must never be.
type tries struct {
	t  *testing.T
	do func(q contract.Request) *contract.Answer
	// away is the beginning of the paths whose store is unavailable: what is right there is 503.
	away          string
	count, failed int
}

func (s *tries) send(q contract.Request) *contract.Answer {
	s.t.Helper()
	s.count++
	a := s.do(q)
	what := fmt.Sprintf("%s %s %v %s", q.Method, q.Path, q.Header, q.Body)
	away := s.away != "" && strings.HasPrefix(q.Path, s.away) && a.Status == http.StatusServiceUnavailable
	forged := len(a.Header.Values("Set-Cookie")) > 0 && !strings.HasPrefix(q.Path, sessionPath)
	if a.Status >= 500 && !away || forged {
		s.failed++
		s.t.Errorf("%.500s: %d %v %s", what, a.Status, a.Header, a.Body)
	}
	require.Less(s.t, s.failed, 20, "and so on")
	return a
}

// fill puts what is there into the places of a path.
func fill(path, id string) string {
	return strings.NewReplacer(
		"{id}", id, "{sequence}", "1", "{asset}", "init.js", "{topic}", "points.dlq", "{partition}", "0", "{offset}", "0",
	).Replace(path)
}

// parameters sends a request for each parameter of each route and each odd value: by
// itself, and, of a family, as the end of the name; and each that may be there once twice.
func (s *tries) parameters(operations map[string]*openapi3.Operation, base func(route string) contract.Request) {
	s.t.Helper()
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		plain := base(route)
		for _, p := range operations[route].Parameters {
			for _, value := range oddValues {
				for _, q := range withParameter(route, plain, p.Value, value) {
					s.send(q)
				}
			}
			once := p.Value.In == "query" && p.Value.Schema.Value.Type.Is("string") && !strings.Contains(p.Value.Name, "<")
			if once && !strings.HasPrefix(plain.Path, "/api/v") && plain.Path != "/write" { // whose clients send what they like
				q := plain
				q.Path += "?" + p.Value.Name + "=a&" + p.Value.Name + "=b"
				a := s.send(q)
				require.Equal(s.t, http.StatusBadRequest, a.Status, "%s: %s", q.Path, a.Body)
			}
		}
	}
}

// withParameter returns the requests that have the value for the parameter.
func withParameter(route string, plain contract.Request, p *openapi3.Parameter, value string) []contract.Request {
	q := plain
	switch {
	case p.In == "query":
		q.Path += "?" + strings.Replace(p.Name, "<key>", "k", 1) + "=" + escape(value)
		if family, _, is := strings.Cut(p.Name, "<key>"); is {
			key := plain
			key.Path += "?" + family + escape(value) + "=x"
			return []contract.Request{q, key}
		}
	case p.In == "path" && !slices.Contains([]string{"", ".", "..", "/"}, value): // or it is another path
		_, pattern, _ := strings.Cut(route, " ")
		pattern = strings.Replace(pattern, "{"+p.Name+"}", strings.ReplaceAll(escape(value), "+", "%20"), 1)
		q.Path = fill(pattern, unknownID())
	case p.In == "header" && value != "" && !strings.ContainsAny(value, "\x00\r\n\t"): // or it is no header
		q.Header = map[string]string{p.Name: value}
	default:
		return nil
	}
	return []contract.Request{q}
}

// bodies sends each body with each value in it in turn replaced by each odd one.
func (s *tries) bodies(plain contract.Request, bodies map[string]string) {
	s.t.Helper()
	for _, body := range bodies {
		var value any
		require.NoError(s.t, json.Unmarshal([]byte(body), &value))
		replaced(value, oddJSON(), func(text json.RawMessage) {
			q := plain
			q.Body = string(text)
			s.send(q)
		})
	}
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
	q := contract.Request{Method: method, Path: fill(path, id)}
	if path == "/api/queries/events" || path == streamPath {
		q.Method = http.MethodHead // or it would go on
	}
	if takesJSON(operation) {
		bodies := bodiesOf(t, operation)
		q.Body = bodies[slices.Sorted(maps.Keys(bodies))[0]]
	}
	return q
}

func takesJSON(operation *openapi3.Operation) bool {
	return operation.RequestBody != nil && operation.RequestBody.Value.Content["application/json"] != nil
}

// bodiesOf returns the bodies that the document shows of an operation, or one by what it says
// that they hold.
func bodiesOf(t *testing.T, operation *openapi3.Operation) map[string]string {
	t.Helper()
	media := operation.RequestBody.Value.Content["application/json"]
	if media.Example != nil || len(media.Examples) > 0 {
		return examples(t, operation)
	}
	body, err := json.Marshal(sampleOf(media.Schema.Value))
	require.NoError(t, err)
	return map[string]string{"made": string(body)}
}

// Each parameter of each route that the contract has, with each odd value, by itself, twice,
// and as the end of a name: refused or not, it is no failure of ours, forges no header and no
// line of the log. A route that is added is tried, too.
func TestNoValueOfAParameterIsAFailureOfOurs(t *testing.T) {
	w := startWhole(t)
	lines, operations := watchLog(t), w.PathsOfContract()
	s := &tries{t: t, away: "/api/rag/", do: func(q contract.Request) *contract.Answer { return w.Do(t, q) }}
	s.parameters(operations, func(route string) contract.Request { return w.base(t, route, operations[route]) })
	require.Greater(t, s.count, 3000)
	w.requireNoFailureOfOurs(t)
	lines.require(t)
}

// Each value in each body that the contract shows, in turn replaced by each odd one.
func TestNoValueInABodyIsAFailureOfOurs(t *testing.T) {
	w := startWhole(t)
	lines, operations := watchLog(t), w.PathsOfContract()
	s := &tries{t: t, away: "/api/rag/", do: func(q contract.Request) *contract.Answer { return w.Do(t, q) }}
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		if takesJSON(operations[route]) {
			s.bodies(w.base(t, route, operations[route]), bodiesOf(t, operations[route]))
		}
	}
	require.Greater(t, s.count, 2000)
	w.requireNoFailureOfOurs(t)
	lines.require(t)
}

// The same of everything that the administration page calls, as an operator who is logged
// in.
func TestNoValueOnThePageIsAFailureOfOurs(t *testing.T) {
	d := startDesk(t, false)
	lines, operations := watchLog(t), maps.Clone(d.Server.PathsOfPage())
	delete(operations, http.MethodDelete+" "+sessionPath) // or the operator is out
	in := func(after string) {
		t.Helper()
		require.Equal(
			t, http.StatusOK, d.Do(t, contract.Request{Path: sessionPath}).Status, "the operator is out after %s", after,
		)
	}
	s := &tries{t: t, do: func(q contract.Request) *contract.Answer {
		if q.Method == http.MethodPost && q.Path == sessionPath { // a login ends the session that comes with it
			q.Key, q.Workspace = contract.None, contract.None
			return d.Server.Do(t, q)
		}
		return d.Do(t, q)
	}}
	base := func(route string) contract.Request {
		method, path, _ := strings.Cut(route, " ")
		q := contract.Request{Method: method, Path: fill(path, unknownID())}
		if strings.HasSuffix(path, "/stream") {
			q.Method = http.MethodHead
		}
		return q
	}
	s.parameters(operations, base)
	in("parameters")
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		if !takesJSON(operations[route]) {
			continue
		}
		s.bodies(base(route), bodiesOf(t, operations[route]))
		in(route)
	}
	require.Greater(t, s.count, 3000)
	require.Zero(t, counted(t, d.Server.Metrics, "livegraph_http_panics_total", "", ""))
	lines.require(t)
}

// sampleOf makes a value that a schema allows, or nearly so.
func sampleOf(schema *openapi3.Schema) any {
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case len(schema.AllOf) > 0:
		return sampleOf(schema.AllOf[0].Value)
	case len(schema.OneOf) > 0:
		return sampleOf(schema.OneOf[0].Value)
	case schema.Type.Is("object"):
		object := map[string]any{}
		for name, property := range schema.Properties {
			object[name] = sampleOf(property.Value)
		}
		return object
	case schema.Type.Is("array"):
		return []any{sampleOf(schema.Items.Value)}
	case schema.Type.Is("integer"), schema.Type.Is("number"):
		return 1
	case schema.Type.Is("boolean"):
		return true
	case schema.Format == "uuid":
		return unknownID()
	case schema.Format == "date-time":
		return "2026-03-01T00:00:00Z"
	}
	return "a text of some length"
}

// replaced returns the JSON value with each value in it, at every depth, in turn replaced by
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

// HEAD and OPTIONS of every route: the one as GET without a body or refused as any other
// method, the other with the methods that there are, to anyone who has a key.
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
		if !readable { // 404: another path's place stands for its last part
			require.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusNotFound}, a.Status, route)
		} else {
			require.NotEqual(t, http.StatusMethodNotAllowed, a.Status, route)
		}
		q.Method = http.MethodOptions
		a = w.DoUnchecked(t, q)
		require.Equal(t, http.StatusNoContent, a.Status, "%s: %s", route, a.Body)
		require.Contains(t, a.Header.Get("Allow"), method)
		require.Contains(t, a.Header.Get("Allow"), http.MethodOptions)
	}
}
