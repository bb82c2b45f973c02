package reply_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

func ifMatch(t *testing.T, headers ...string) (*reply.Condition, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPut, "/api/alertmanagers", nil)
	for _, header := range headers {
		r.Header.Add("If-Match", header)
	}
	return reply.ConditionOf(r)
}

func TestConditionsAreMetByTheTagsInThem(t *testing.T) {
	data := map[string]int{"a": 1}
	tag, err := reply.TagOf(data)
	require.NoError(t, err)
	other, err := reply.TagOf(map[string]int{"a": 2})
	require.NoError(t, err)
	for _, c := range []struct {
		headers []string
		data    any
		met     bool
	}{
		{nil, data, true}, {nil, nil, true}, {[]string{tag}, data, true}, {[]string{tag[2:]}, data, true},
		{[]string{other + " , " + tag}, data, true}, {[]string{other, tag}, data, true}, {[]string{"*"}, data, true},
		{[]string{"*"}, nil, false}, {[]string{tag}, nil, false}, {[]string{other}, data, false},
		{[]string{`""`}, data, false},
	} {
		condition, err := ifMatch(t, c.headers...)
		require.NoError(t, err)
		err = condition.Check(c.data)
		if c.met {
			require.NoError(t, err, c.headers)
		} else {
			require.Equal(t, fault.Conflict, fault.KindOf(err), "%v: %v", c.headers, err)
		}
	}
}

func TestHeadersThatAreNoEntityTagsAreMalformed(t *testing.T) {
	for _, headers := range [][]string{
		{""}, {"1"}, {`"`}, {`"a`}, {`a"`}, {`"a"b"`}, {`w/"a"`}, {`W/a`}, {`"a",`}, {`"a" "b"`}, {`"a"`, "b"}, {"**"},
	} {
		_, err := ifMatch(t, headers...)
		require.Equal(t, fault.Malformed, fault.KindOf(err), "%q", headers)
		require.Contains(t, err.Error(), "If-Match")
	}
}

func TestIfNoneMatchIsMetWhereNothingExists(t *testing.T) {
	r := httptest.NewRequest(http.MethodPut, "/api/rules/a", nil)
	r.Header.Set("If-None-Match", " * ")
	condition, err := reply.ConditionOf(r)
	require.NoError(t, err)
	require.NoError(t, condition.Check(nil))
	require.Equal(t, fault.Conflict, fault.KindOf(condition.Check(map[string]int{"a": 1})))

	r.Header.Set("If-Match", "*")
	_, err = reply.ConditionOf(r)
	require.Equal(t, fault.Malformed, fault.KindOf(err), "both headers")
	for _, header := range []string{"", `"a"`, "*, *", `*, "a"`, "**"} {
		r := httptest.NewRequest(http.MethodPut, "/api/rules/a", nil)
		r.Header.Set("If-None-Match", header)
		_, err := reply.ConditionOf(r)
		require.Equal(t, fault.Malformed, fault.KindOf(err), "%q", header)
	}
}

func TestConditionsOfChangesIgnoreTheState(t *testing.T) {
	type resource map[string]int
	respond := func(state int, settings resource, ifNoneMatch string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/alertmanagers", nil)
		r.Header.Set("If-None-Match", ifNoneMatch)
		w := httptest.NewRecorder()
		reply.ResourceWithState(w, r, []any{settings, state}, settings)
		return w
	}
	first := respond(1, resource{"a": 1}, "")
	require.Equal(t, http.StatusOK, first.Code)
	tag := first.Header().Get("ETag")
	require.Equal(t, http.StatusNotModified, respond(1, resource{"a": 1}, tag).Code)
	require.Equal(t, http.StatusOK, respond(2, resource{"a": 1}, tag).Code, "the state changed")
	require.Equal(t, http.StatusOK, respond(1, resource{"a": 2}, tag).Code, "the settings changed")
	for _, header := range []string{tag, respond(2, resource{"a": 1}, "").Header().Get("ETag"), tag[2:]} {
		condition, err := ifMatch(t, header)
		require.NoError(t, err)
		require.NoError(t, condition.Check(resource{"a": 1}))
		require.Equal(t, fault.Conflict, fault.KindOf(condition.Check(resource{"a": 2})))
	}
}
