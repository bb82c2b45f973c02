package contract_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// badJSON returns bad bodies for the route that accepts a name and a value.
func badJSON() map[string]refusal {
	return map[string]refusal{
		"white space": {" ", 400, "body"}, "byte order mark": {"\ufeff{}", 400, "body"}, "null": {"null", 400, "body"},
		"scalar": {"5", 400, "body"}, "array": {"[]", 400, "body"}, "trailing data": {`{"name":"a"}{}`, 400, "body"},
		"duplicate": {`{"name":"a","name":"a"}`, 400, "name"}, "other case": {`{"Name":"a"}`, 400, "Name"},
		"unknown": {`{"x":1}`, 400, "x"},
		"missing": {`{}`, 400, "name"}, "null field": {`{"name":null}`, 400, "name"},
		"depth 10 000":   {strings.Repeat(`{"name":`, 10_000), 400, "body"},
		"lone surrogate": {`{"name":"\udc00"}`, 400, "name"}, "invalid UTF-8": {"{\"name\":\"\xc3\x28\"}", 400, "name"},
		"overlong UTF-8": {"{\"name\":\"\xc0\xaf\"}", 400, "name"}, "NaN": {`{"value":NaN}`, 400, "value"},
		"Infinity": {`{"value":Infinity}`, 400, "value"},
		"comment":  {`{"name":"a"/**/}`, 400, "body"}, "trailing comma": {`{"name":"a",}`, 400, "body"},
		"number as string": {`{"name":"a","value":"1"}`, 400, "value"}, "string as number": {`{"name":1}`, 400, "name"},
		"U+0000": {`{"name":"\u0000"}`, 422, "name"}, "1e400": {`{"name":"a","value":1e400}`, 422, "value"},
		"-1e400":     {`{"name":"a","value":-1e400}`, 422, "value"},
		"empty name": {`{"name":""}`, 422, "name"}, "control characters": {`{"name":"a\r\nb"}`, 422, "name"},
		"too long":      {`{"name":"` + strings.Repeat("é", 257) + `"}`, 422, "name"},
		"50 MiB string": {`{"name":"` + strings.Repeat("x", 50<<20) + `"}`, 413, "body"},
	}
}

// The classes of bad JSON, with the status and the field that the caller receives. The
// details of the parser are tested in api/request.
func TestErrorsInJSONAreDistinguished(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for name, c := range badJSON() {
		t.Run(name, func(t *testing.T) {
			a := s.DoUnchecked(t, contract.Request{Method: "POST", Path: "/api/test/echo", Body: c.body})
			a.RequireFailure(t, c.status, validation, "", map[string]any{"field": c.field})
			require.NotEmpty(t, a.Error.Details["reason"])
		})
	}
	for _, number := range []string{"-0", "1e-400", "9007199254740993", "9223372036854775808", "1.7976931348623157e308"} {
		a := s.DoUnchecked(t, contract.Request{
			Method: "POST", Path: "/api/test/echo", Body: `{"name":"a","value":` + number + `}`,
		})
		require.Equal(t, http.StatusCreated, a.Status, number)
	}
}

func TestTextsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for _, text := range []string{
		"'; DROP TABLE workspaces; --", `{"$gt":""}`, "<script>alert(1)</script>", "{{7*7}}${7*7}#{7*7}", "=HYPERLINK(\"x\")",
		"@SUM(1)", "%_\\", "a.b['c']",
		"\u202eevil", "zero\u200bwidth", "e\u0301", "\u00e9", "😀👩‍👩‍👧", "__proto__", "level=ERROR msg=forged",
		"redis.call('FLUSHALL')", "id in [\"x\"]", "../../etc/passwd",
		strings.Repeat("𝕏", 256),
	} {
		body, err := json.Marshal(map[string]string{"name": text})
		require.NoError(t, err)
		a := s.DoUnchecked(t, contract.Request{Method: "POST", Path: "/api/test/echo", Body: string(body)})
		require.Equal(t, http.StatusCreated, a.Status, "%s", a.Body)
		var back string
		require.NoError(t, json.Unmarshal(a.Data, &back))
		require.Equal(t, text, back, strconv.Quote(text))
	}
}
