package contract_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// TestChangesOfAnotherStateAreRefused replaces a file of rules and the list of Alertmanagers with If-Match.
func TestChangesOfAnotherStateAreRefused(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	mismatch := map[string]any{"field": "If-Match", "reason": "version_mismatch"}
	for path, bodies := range map[string][3]string{
		rulesPath + "main": {
			`{"groups":[{"name":"a","rules":[]}]}`, `{"groups":[{"name":"b","rules":[]}]}`,
			`{"groups":[{"name":"c","rules":[]}]}`,
		},
		"/api/alertmanagers": {
			`{"urls":["https://a.example.com"]}`, `{"urls":["https://b.example.com"]}`, `{"urls":[]}`,
		},
	} {
		put := func(body, ifMatch string) *contract.Answer {
			header := map[string]string{"Content-Type": "application/json"}
			if ifMatch != "" {
				header["If-Match"] = ifMatch
			}
			return l.Do(t, contract.Request{Method: http.MethodPut, Path: path, Body: body, Header: header})
		}
		read := func() *contract.Answer { return l.Do(t, contract.Request{Path: path}) }
		if path != "/api/alertmanagers" { // the list always exists
			put(bodies[0], "*").RequireFailure(t, 409, "CONFLICT", "Version mismatch", mismatch)
			put(bodies[0], `W/"0"`).RequireFailure(t, 409, "CONFLICT", "Version mismatch", mismatch)
			requireStatus(t, http.StatusNotFound, read())
		}
		created := put(bodies[0], "")
		require.Contains(t, []int{http.StatusCreated, http.StatusOK}, created.Status, "%s", created.Body)
		first := created.Header.Get("ETag")
		require.NotEmpty(t, first)
		require.Equal(t, first, read().Header.Get("ETag"), "a change has the tag of the state after it")

		changed := put(bodies[1], `"x", `+first)
		requireStatus(t, http.StatusOK, changed)
		second := changed.Header.Get("ETag")
		require.NotEqual(t, first, second)
		before := read().Data
		put(bodies[2], first).RequireFailure(t, 409, "CONFLICT", "Version mismatch", mismatch)
		for _, header := range []string{"1", `"a`, second[2:] + ","} {
			put(bodies[2], header).RequireFailure(t, 400, validation, "", map[string]any{"field": "If-Match"})
		}
		after := read()
		require.JSONEq(t, string(before), string(after.Data), "nothing changed")
		require.Equal(t, second, after.Header.Get("ETag"))
		requireStatus(t, http.StatusNotModified,
			l.Do(t, contract.Request{Path: path, Header: map[string]string{"If-None-Match": second}}))
		requireStatus(t, http.StatusOK, put(bodies[2], "*"))
		requireStatus(t, http.StatusOK, put(bodies[0], ""))
	}
}

// TestAFileIsCreatedOnceWithIfNoneMatch creates a file of rules with If-None-Match.
func TestAFileIsCreatedOnceWithIfNoneMatch(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	put := func(path, body string, header map[string]string) *contract.Answer {
		header["Content-Type"] = "application/json"
		return l.Do(t, contract.Request{Method: http.MethodPut, Path: path, Body: body, Header: header})
	}
	const first, second = `{"groups":[{"name":"a","rules":[]}]}`, `{"groups":[{"name":"b","rules":[]}]}`
	path := rulesPath + "main"
	field := map[string]any{"field": "If-None-Match"}
	both := put(path, first, map[string]string{"If-None-Match": "*", "If-Match": "*"})
	both.RequireFailure(t, 400, validation, "", field)
	for _, tag := range []string{`"a"`, "*, *", "**"} {
		header := map[string]string{"If-None-Match": tag, "Content-Type": "application/json"}
		odd := l.DoUnchecked(t, contract.Request{Method: http.MethodPut, Path: path, Body: first, Header: header})
		odd.RequireFailure(t, 400, validation, "", field)
	}
	requireStatus(t, http.StatusNotFound, l.Do(t, contract.Request{Path: path}))

	// Of writers at the same time, one creates the file.
	statuses := make([]int, 8)
	var writers sync.WaitGroup
	for i := range statuses {
		writers.Go(func() { statuses[i] = put(path, first, map[string]string{"If-None-Match": "*"}).Status })
	}
	writers.Wait()
	slices.Sort(statuses)
	require.Equal(t, http.StatusCreated, statuses[0])
	require.Equal(t, slices.Repeat([]int{http.StatusConflict}, 7), statuses[1:])

	put(path, second, map[string]string{"If-None-Match": "*"}).RequireFailure(t, 409, "CONFLICT", "It exists already",
		map[string]any{"field": "If-None-Match", "reason": "already_exists"})
	require.Contains(t, string(l.Do(t, contract.Request{Path: path}).Data), `a`)
	requireStatus(t, http.StatusConflict,
		put("/api/alertmanagers", `{"urls":[]}`, map[string]string{"If-None-Match": "*"}))
}
