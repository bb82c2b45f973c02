package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
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
	"github.com/livegraph/livegraph/test/testenv"
)

// forgery would become a header of an answer, or a line of a log, if it were written
// without escaping.
const forgery = "x\r\nSet-Cookie: forged=1\r\n\r\n{\"level\":\"ERROR\",\"msg\":\"forged\"}"

// oddValues are unusual values of parameters.
var oddValues = slices.Concat([]string{
	"", " ", "0", "-1", "1.5", "1e400", "007", "101", "2147483648", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", "NaN", "true", "null", "[]", "{}", ",", ",,,", "a,b", "*", ".", "..", "/", "%", "\x00",
	"\xff\xfe", "\ud7ff\ue000",
	"now", "-1h", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999999Z",
	"9999-12-31T23:59:59-23:59", "1ns", "30d", "auto", "UTC", "id", "name", "-name", "asc",
	"0194a5b0-0000-7000-8000-00000000000a", forgery, strings.Repeat("9", 400), strings.Repeat("é", 2000),
}, injected)

// oddJSON returns values that replace any other value in a body.
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

// logChecker is a writer of logs that checks their format: each record is one line of JSON, and
// no line begins with text of a caller.
type logChecker struct {
	mu      sync.Mutex
	records int
	broken  string
}

func (l *logChecker) Write(p []byte) (int, error) {
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

// checkLog checks what the process logs until the test ends.
func checkLog(t *testing.T) *logChecker {
	t.Helper()
	old, lines := slog.Default(), &logChecker{}
	slog.SetDefault(telemetry.NewLogger(
		config.Log{Level: "debug", Format: "json"}, lines, func(context.Context) []slog.Attr { return nil },
	))
	t.Cleanup(func() { slog.SetDefault(old) })
	return lines
}

func (l *logChecker) requireValid(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Positive(t, l.records)
	require.Empty(t, l.broken, "no line of a log")
}

// oddRequests sends odd requests and checks that no answer is a server error or forged.
type oddRequests struct {
	t  *testing.T
	do func(q contract.Request) *contract.Answer
	// unavailable is the prefix of the paths whose store is unavailable: valid requests get 503 there.
	unavailable   string
	count, failed int
	random        *rand.Rand
}

func newOddRequests(t *testing.T, do func(q contract.Request) *contract.Answer) *oddRequests {
	return &oddRequests{t: t, do: do, random: rand.New(rand.NewPCG(1, 1))}
}

// oddShare is the share of the odd values that each parameter and each value of a body gets in make test: one of so
// many, at random. In make test-all each gets all of them.
const oddShare = 6

// usesNext reports whether the next odd value is used.
func (s *oddRequests) usesNext() bool { return testenv.Full() || s.random.IntN(oddShare) == 0 }

// requireSent checks that the test has sent at least so many requests in make test-all, and its share in make test.
func (s *oddRequests) requireSent(full int) {
	s.t.Helper()
	require.Greater(s.t, s.count, testenv.InFull(full, full/oddShare))
}

func (s *oddRequests) send(q contract.Request) *contract.Answer {
	s.t.Helper()
	s.count++
	a := s.do(q)
	what := fmt.Sprintf("%s %s %v %s", q.Method, q.Path, q.Header, q.Body)
	away := s.unavailable != "" && strings.HasPrefix(q.Path, s.unavailable) && a.Status == http.StatusServiceUnavailable
	forged := len(a.Header.Values("Set-Cookie")) > 0 && !strings.HasPrefix(q.Path, sessionPath)
	if a.Status >= 500 && !away || forged {
		s.failed++
		s.t.Errorf("%.500s: %d %v %s", what, a.Status, a.Header, a.Body)
	}
	require.Less(s.t, s.failed, 20, "and so on")
	return a
}

// fillPath replaces the parameters of a path by existing values and the id.
func fillPath(path, id string) string {
	return strings.NewReplacer(
		"{id}", id, "{sequence}", "1", "{asset}", "init.js", "{topic}", "points.dlq", "{partition}", "0", "{offset}", "0",
	).Replace(path)
}

// parameters sends a request for each parameter of each route and each odd value. For a
// family of parameters it also uses the value as the end of the name. Parameters that may
// occur once are also sent twice.
func (s *oddRequests) parameters(operations map[string]*openapi3.Operation, base func(route string) contract.Request) {
	s.t.Helper()
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		plain := base(route)
		for _, p := range operations[route].Parameters {
			for _, value := range oddValues {
				if !s.usesNext() {
					continue
				}
				for _, q := range withParameter(route, plain, p.Value, value) {
					s.send(q)
				}
			}
			once := p.Value.In == "query" && p.Value.Schema.Value.Type.Is("string") && !strings.Contains(p.Value.Name, "<")
			foreign := strings.HasPrefix(plain.Path, "/api/v") || plain.Path == "/write" || isPrometheus(plain.Path)
			if once && !foreign { // routes of other products accept any
				q := plain
				q.Path += "?" + p.Value.Name + "=a&" + p.Value.Name + "=b"
				a := s.send(q)
				require.Equal(s.t, http.StatusBadRequest, a.Status, "%s: %s", q.Path, a.Body)
			}
		}
	}
}

// withParameter returns the requests that set the parameter to the value.
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
	case p.In == "path" && !slices.Contains([]string{"", ".", "..", "/"}, value): // otherwise it is another path
		_, pattern, _ := strings.Cut(route, " ")
		pattern = strings.Replace(pattern, "{"+p.Name+"}", strings.ReplaceAll(escape(value), "+", "%20"), 1)
		q.Path = fillPath(pattern, unknownID())
	case p.In == "header" && value != "" && !strings.ContainsAny(value, "\x00\r\n\t"): // others are no valid headers
		q.Header = map[string]string{p.Name: value}
	default:
		return nil
	}
	return []contract.Request{q}
}

// bodies sends each body, with each of its values replaced by each odd one in turn.
func (s *oddRequests) bodies(plain contract.Request, bodies map[string]string) {
	s.t.Helper()
	for _, body := range bodies {
		var value any
		require.NoError(s.t, json.Unmarshal([]byte(body), &value))
		forEachReplacement(value, oddJSON(), func(text json.RawMessage) {
			if !s.usesNext() {
				return
			}
			q := plain
			q.Body = string(text)
			s.send(q)
		})
	}
}

// baseRequest returns a plain request to a route, about something that exists if the route
// reads and about something unknown if it deletes.
func (w *environment) baseRequest(t *testing.T, name string, operation *openapi3.Operation) contract.Request {
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
	q := contract.Request{Method: method, Path: fillPath(path, id)}
	if path == "/api/queries/events" || path == streamPath {
		q.Method = http.MethodHead // otherwise the stream would not end
	}
	if takesJSON(operation) {
		bodies := exampleBodies(t, operation)
		q.Body = bodies[slices.Sorted(maps.Keys(bodies))[0]]
	}
	return q
}

func takesJSON(operation *openapi3.Operation) bool {
	return operation.RequestBody != nil && operation.RequestBody.Value.Content["application/json"] != nil
}

// exampleBodies returns the example bodies of an operation in the document, or one that is
// generated from its schema.
func exampleBodies(t *testing.T, operation *openapi3.Operation) map[string]string {
	t.Helper()
	media := operation.RequestBody.Value.Content["application/json"]
	if media.Example != nil || len(media.Examples) > 0 {
		return examples(t, operation)
	}
	body, err := json.Marshal(sampleValue(media.Schema.Value))
	require.NoError(t, err)
	return map[string]string{"made": string(body)}
}

// Each parameter of each route of the contract is sent with each odd value, once, twice, and
// as the end of a name: refused or not, it causes no server error and forges no header and no
// line of the log. New routes are tested without a change here.
func TestNoValueOfAParameterIsAnInternalError(t *testing.T) {
	w := startEnvironment(t)
	lines, operations := checkLog(t), w.ContractOperations()
	s := newOddRequests(t, func(q contract.Request) *contract.Answer { return w.Do(t, q) })
	s.unavailable = "/api/rag/"
	s.parameters(operations, func(route string) contract.Request { return w.baseRequest(t, route, operations[route]) })
	s.requireSent(3000)
	w.requireNoServerErrors(t)
	lines.requireValid(t)
}

// Each value in each example body of the contract is replaced by each odd value in turn.
func TestNoValueInABodyIsAnInternalError(t *testing.T) {
	w := startEnvironment(t)
	lines, operations := checkLog(t), w.ContractOperations()
	s := newOddRequests(t, func(q contract.Request) *contract.Answer { return w.Do(t, q) })
	s.unavailable = "/api/rag/"
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		if takesJSON(operations[route]) {
			s.bodies(w.baseRequest(t, route, operations[route]), exampleBodies(t, operations[route]))
		}
	}
	s.requireSent(2000)
	w.requireNoServerErrors(t)
	lines.requireValid(t)
}

// The same for the API of the admin UI, as an operator who is logged in.
func TestNoValueOnThePageIsAnInternalError(t *testing.T) {
	d := startPipeline(t, false)
	lines, operations := checkLog(t), maps.Clone(d.Server.AdminOperations())
	delete(operations, http.MethodDelete+" "+sessionPath) // otherwise the operator is logged out
	requireLoggedIn := func(after string) {
		t.Helper()
		require.Equal(
			t, http.StatusOK, d.Do(t, contract.Request{Path: sessionPath}).Status, "the operator is out after %s", after,
		)
	}
	s := newOddRequests(t, func(q contract.Request) *contract.Answer {
		if q.Method == http.MethodPost && q.Path == sessionPath { // a login ends the session of its request
			q.Key, q.Workspace = contract.None, contract.None
			return d.Server.Do(t, q)
		}
		return d.Do(t, q)
	})
	base := func(route string) contract.Request {
		method, path, _ := strings.Cut(route, " ")
		q := contract.Request{Method: method, Path: fillPath(path, unknownID())}
		if strings.HasSuffix(path, "/stream") {
			q.Method = http.MethodHead
		}
		return q
	}
	s.parameters(operations, base)
	requireLoggedIn("parameters")
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		if !takesJSON(operations[route]) {
			continue
		}
		s.bodies(base(route), exampleBodies(t, operations[route]))
		requireLoggedIn(route)
	}
	s.requireSent(3000)
	require.Zero(t, counterSum(t, d.Server.Metrics, "livegraph_http_panics_total", "", ""))
	lines.requireValid(t)
}

// sampleValue returns a value that roughly matches a schema.
func sampleValue(schema *openapi3.Schema) any {
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case len(schema.AllOf) > 0:
		return sampleValue(schema.AllOf[0].Value)
	case len(schema.OneOf) > 0:
		return sampleValue(schema.OneOf[0].Value)
	case schema.Type.Is("object"):
		object := map[string]any{}
		for name, property := range schema.Properties {
			object[name] = sampleValue(property.Value)
		}
		return object
	case schema.Type.Is("array"):
		return []any{sampleValue(schema.Items.Value)}
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

// forEachReplacement calls found with variants of the JSON value: each value in it, at every
// depth, replaced by each of odd, each member left out, and an unknown member added to each
// object.
func forEachReplacement(value any, odd []string, found func(json.RawMessage)) {
	encode := func(v any) json.RawMessage {
		text, _ := json.Marshal(v) // v was decoded from JSON, so this cannot fail
		return text
	}
	for _, text := range odd {
		found(json.RawMessage(text))
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			with := maps.Clone(v)
			forEachReplacement(v[name], odd, func(inner json.RawMessage) {
				with[name] = json.RawMessage(placeholder) // the encoder might refuse the odd value
				found(bytes.Replace(encode(with), []byte(placeholder), inner, 1))
			})
			delete(with, name)
			found(encode(with))
		}
		with := maps.Clone(v)
		with[forgery] = 1
		found(encode(with))
	case []any:
		for i := range min(len(v), 2) {
			with := slices.Clone(v)
			forEachReplacement(v[i], odd, func(inner json.RawMessage) {
				with[i] = json.RawMessage(placeholder)
				found(bytes.Replace(encode(with), []byte(placeholder), inner, 1))
			})
		}
	}
}

// placeholder is replaced by raw text after encoding.
const placeholder = `"7b3e5f0a-the-place"`

// HEAD and OPTIONS of every route: HEAD is answered like GET without a body, or refused like
// any other method; OPTIONS returns the methods of the route to anyone with a key.
func TestEveryRouteAnswersHeadAndOptions(t *testing.T) {
	w := startEnvironment(t)
	operations := w.ContractOperations()
	for _, route := range slices.Sorted(maps.Keys(operations)) {
		q := w.baseRequest(t, route, operations[route])
		method, _, _ := strings.Cut(route, " ")
		q.Body, q.Method = "", http.MethodHead
		a := w.DoUnchecked(t, q)
		require.Empty(t, a.Body, route)
		require.Less(t, a.Status, 500, route)
		_, path, _ := strings.Cut(route, " ")
		_, readable := operations[http.MethodGet+" "+path]
		if !readable { // 404: its last segment may match a parameter of another path
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
