package contract_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
)

const pointsPath = "/api/live-data/points"

// deletion is the answer to a deletion of points.
type deletion struct {
	SourceID   string
	Metric     *string
	From, To   *time.Time
	Checkpoint string
}

func (l *live) deletePoints(t testing.TB, params string) *contract.Answer {
	t.Helper()
	return l.Do(t, contract.Request{Method: http.MethodDelete, Path: pointsPath + "?" + params})
}

func TestADeletionOfPointsIsInTheLogWhenItIsAnswered(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	s := l.createSource(t, `{"name":"boiler"}`)
	ends := func() (sum int64) {
		state, err := l.Log.Observe(t.Context())
		require.NoError(t, err)
		for _, p := range state.State {
			sum += p.End
		}
		return sum
	}
	all := decode[deletion](t, l.deletePoints(t, "sourceId="+s.ID), http.StatusAccepted)
	require.Equal(t, s.ID, all.SourceID)
	require.Nil(t, all.Metric)
	require.Nil(t, all.From)
	require.Nil(t, all.To)
	require.EqualValues(t, 1, ends())

	some := decode[deletion](
		t, l.deletePoints(t, "metric=a%20b&from=1000&to=2026-03-01T00:00:00.000001Z&sourceId="+strings.ToUpper(s.ID)),
		http.StatusAccepted,
	)
	require.Equal(t, "a b", *some.Metric)
	require.Equal(t, time.Unix(1, 0).UTC(), *some.From)
	require.Equal(t, 1000, some.To.Nanosecond())
	require.NotEqual(t, all.Checkpoint, some.Checkpoint)

	decode[deletion](t, l.deletePoints(t, "sourceId="+s.ID+"&from=-1w&to=now"), http.StatusAccepted)
	require.EqualValues(t, 3, ends())

	// No consumer runs: a query that waits for the deletion times out.
	a := l.Do(t, contract.Request{Path: "/api/live-data/query?checkpoint=" + url.QueryEscape(some.Checkpoint)})
	require.Equal(t, http.StatusGatewayTimeout, a.Status)
}

// badDeletions returns parameters of a deletion of points, with the name of the invalid
// parameter. source exists and gone is deleted.
func badDeletions(source, gone string) map[string]string {
	return map[string]string{
		"": "sourceId", "metric=m": "sourceId", "sourceId=": "sourceId", "sourceId=boiler": "sourceId",
		"sourceId={" + source + "}":       "sourceId",
		"sourceId=" + source + "," + gone: "sourceId", "sourceId=" + source + "&sourceId=" + source: "sourceId",
		"source=boiler":                   "source",
		"sourceId=" + source + "&metric=": "metric",
		"sourceId=" + source + "&metric=" + strings.Repeat("m", 257): "metric",
		"sourceId=" + source + "&metric=a&metric=b":                  "metric",
		"sourceId=" + source + "&form=0":                             "form",
		"sourceId=" + source + "&tag.room=a":                         "tag.room",
		"sourceId=" + source + "&limit=1":                            "limit",
		"sourceId=" + source + "&from=2&to=1":                        "from",
		"sourceId=" + source + "&from=1&to=1":                        "from",
		"sourceId=" + source + "&from=now&to=-1h":                    "from",
		"sourceId=" + source + "&from=9223372036854775808":           "from",
		"sourceId=" + source + "&to=9223372036854775807":             "to",
		"sourceId=" + source + "&to=tomorrow":                        "to",
		"sourceId=" + source + "&from=":                              "from",
		"sourceId=" + source + "&from=0&from=1":                      "from",
	}
}

func TestWrongDeletionsOfPointsChangeNothing(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	s := l.createSource(t, `{"name":"boiler"}`)
	gone := l.createSource(t, `{"name":"gone"}`)
	require.Equal(
		t, http.StatusNoContent,
		l.Do(t, contract.Request{Method: http.MethodDelete, Path: sourcesPath + "/" + gone.ID}).Status,
	)
	before, err := l.Log.Observe(t.Context())
	require.NoError(t, err)

	for params, field := range badDeletions(s.ID, gone.ID) {
		a := l.DoUnchecked(t, contract.Request{Method: http.MethodDelete, Path: pointsPath + "?" + params})
		a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": field})
	}
	a := l.deletePoints(t, "sourceId="+s.ID+"&form=0")
	require.ElementsMatch(t, []any{"sourceId", "metric", "from", "to"}, a.Error.Details["allowed"])

	other := l.NewWorkspace(t, apikey.Live)
	key := l.NewKey(t, []uuid.UUID{other}, request.Admin)
	for _, id := range []string{uuid.NewString(), gone.ID} {
		require.Equal(t, http.StatusNotFound, l.deletePoints(t, "sourceId="+id).Status)
	}
	unknown := l.Do(t, contract.Request{
		Method: http.MethodDelete, Path: pointsPath + "?sourceId=" + uuid.NewString(), Key: key, Workspace: other.String(),
	})
	foreign := l.Do(t, contract.Request{
		Method: http.MethodDelete, Path: pointsPath + "?sourceId=" + s.ID, Key: key, Workspace: other.String(),
	})
	require.Equal(t, http.StatusNotFound, foreign.Status)
	require.Equal(t, unknown.Error, foreign.Error, "another workspace's source looks like none")

	writer := l.NewKey(t, []uuid.UUID{l.Workspace}, request.WriteLiveData, request.ReadLiveData)
	require.Equal(
		t, http.StatusForbidden,
		l.Do(t, contract.Request{Method: http.MethodDelete, Path: pointsPath + "?sourceId=" + s.ID, Key: writer}).Status,
	)
	a = l.Do(t, contract.Request{Path: pointsPath})
	require.Equal(t, http.StatusMethodNotAllowed, a.Status)
	require.Equal(t, "DELETE, OPTIONS", a.Header.Get("Allow"))

	after, err := l.Log.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.State, after.State)
}

func TestADeletionOfPointsIsRefusedWhileTheLogIsUnavailable(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	s := l.createSource(t, `{"name":"boiler"}`)
	l.Log.Close()
	a := l.deletePoints(t, "sourceId="+s.ID)
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
}
