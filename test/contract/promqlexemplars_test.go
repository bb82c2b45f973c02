package contract_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/promwrite"
)

// storeExemplars inserts exemplars of a series into ClickHouse, as the consumer would.
func (l *live) storeExemplars(t testing.TB, key seriesKey, rows ...clickhouse.ExemplarRow) {
	t.Helper()
	key.special = true
	for i := range rows {
		rows[i].Series = l.register(t, l.Workspace, key)
	}
	require.NoError(t, l.Points.InsertExemplars(t.Context(), rows))
}

func TestExemplarsAreListed(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	target := l.createSource(t, `{"name":"api/a","tags":{"job":"api","instance":"a"}}`)
	bucket := func(le string) seriesKey {
		return seriesKey{source: target.ID, metric: "latency_bucket", tags: map[string]string{"le": le}}
	}
	l.store(t, l.Workspace, bucket("1"), sample{microsAt(0), 1.0, 1})
	l.storeExemplars(t, bucket("1"),
		clickhouse.ExemplarRow{TS: microsAt(time.Minute) + 250_999, Labels: `{"trace_id":"<b>"}`, Value: 0.5, Version: 1},
		clickhouse.ExemplarRow{TS: microsAt(0), Labels: `{"span_id":"s","trace_id":"a"}`, Value: 7, Version: 1},
		clickhouse.ExemplarRow{TS: microsAt(0), Labels: `{"span_id":"s","trace_id":"a"}`, Value: 0.25, Version: 2})
	l.storeExemplars(t, bucket("+Inf"), clickhouse.ExemplarRow{TS: microsAt(time.Hour), Labels: `{}`, Version: 1})
	l.storeExemplars(t, seriesKey{source: target.ID, metric: "alone"},
		clickhouse.ExemplarRow{TS: microsAt(0), Labels: `{"a":"1"}`, Value: 1, Version: 1})

	exemplars := func(parameters ...string) string {
		a := l.prom(t, "/query_exemplars", parameters...)
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		return string(a.Data)
	}
	const early = `{"labels":{"span_id":"s","trace_id":"a"},"value":"0.25","timestamp":1772323200}`
	const later = `{"labels":{"trace_id":"<b>"},"value":"0.5","timestamp":1772323260.250}`
	const labels = `{"seriesLabels":{"__name__":"latency_bucket","instance":"a","job":"api","le":`
	one := func(list string) string { return "[" + labels + `"1"},"exemplars":[` + list + "]}]" }
	query := "histogram_quantile(0.9, sum by (le) (rate(latency_bucket[5m])))"
	require.Equal(t, `[`+labels+`"+Inf"},"exemplars":[{"labels":{},"value":"0","timestamp":1772326800}]},`+
		one(early + "," + later)[1:], exemplars("query", query), "sorted by labels and time")
	require.Equal(t, one(early+","+later), exemplars("query", query, "end", promTime(2*time.Minute)))
	require.Equal(t, one(early), exemplars("query", query, "start", promTime(0), "end", "1772323260.249"))
	require.Equal(t, one(later), exemplars("query", query, "start", "1772323260.25", "end", "1772323260.25"))
	require.Equal(t, one(early), exemplars("query", `latency_bucket{le="1"} / latency_bucket{job="api",le="1"}`,
		"end", promTime(0)), "a series that two selectors select is listed once")
	require.Contains(t, exemplars("query", "alone"), `"value":"1"`, "a series without samples")
	require.Equal(t, "[]", exemplars("query", `latency_bucket{le="2"}`))
	require.Empty(t, exemplars("query", "1+1"), "as in Prometheus, there is no data")

	other := l.NewWorkspace(t, apikey.Live)
	a := l.Do(t, contract.Request{
		Path: promql.Prefix + "/api/v1/query_exemplars?query=latency_bucket", Workspace: other.String(),
		Key: l.NewKey(t, []uuid.UUID{other}, request.ReadLiveData),
	})
	require.Equal(t, http.StatusOK, a.Status)
	require.JSONEq(t, `[]`, string(a.Data), "another workspace")
}

func TestTooManyExemplarsAreRefused(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	source := l.createSource(t, `{"name":"a"}`)
	rows := make([]clickhouse.ExemplarRow, promstore.MaxExemplars+1)
	id := l.register(t, l.Workspace, seriesKey{source: source.ID, metric: "m", special: true})
	for i := range rows {
		rows[i] = clickhouse.ExemplarRow{Series: id, TS: microsAt(0), Labels: `{"id":"` + strconv.Itoa(i) + `"}`, Version: 1}
	}
	require.NoError(t, l.Points.InsertExemplars(t.Context(), rows[1:]))
	a := l.prom(t, "/query_exemplars", "query", "m")
	require.Equal(t, http.StatusOK, a.Status, "%.500s", a.Body)
	require.Equal(t, promstore.MaxExemplars, strings.Count(string(a.Body), `"timestamp"`))
	require.NoError(t, l.Points.InsertExemplars(t.Context(), rows[:1]))
	a = l.prom(t, "/query_exemplars", "query", "m")
	a.RequireFailure(t, http.StatusUnprocessableEntity, execution, "", nil)
	require.Contains(t, a.Error.Message, "more than 20000 exemplars: ask for a shorter range")
	require.Equal(t, "[]", string(l.prom(t, "/query_exemplars", "query", "m", "start", promTime(time.Second)).Data))
}

func TestExemplarsOfRemoteWritesAreCounted(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	a := l.remoteWrite(t, remoteWritePath, encodeWrite2(
		upSeries("a:1").Sample(marchFirst, 1).Exemplar(marchFirst, 1, "trace_id", "a"),
		upSeries("a:1").Exemplar(marchFirst, 1, "trace_id", "b").Exemplar(marchFirst, 1, "trace_id", "a"),
		upSeries("a:1").Exemplar(marchFirst, 1, "trace_id", strings.Repeat("x", 121)),
	), version2)
	require.Equal(t, http.StatusNoContent, a.Status, "%s", a.Body)
	require.Equal(t, []string{"1", "0", "2"}, written(a.Header), "the same again and one that is too long are not counted")

	partly := upSeries("a:1").Sample(-1, 1).Sample(marchFirst, 1).Exemplar(marchFirst, 1, "trace_id", "a")
	a = l.remoteWrite(t, remoteWritePath, encodeWrite2(partly), version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", nil)
	require.Equal(t, []string{"1", "0", "1"}, written(a.Header))
	wrong := promwrite.Message{}.Text(4, "").Bytes(
		5, promwrite.Message{}.Bytes(1, []byte{0, 0}).Bytes(4, promwrite.Message{}.Bytes(1, []byte{0, 7})),
	)
	a = l.remoteWrite(t, remoteWritePath, snappy.Encode(nil, wrong), version2)
	a.RequireFailure(
		t, http.StatusBadRequest, validation, "", map[string]any{"field": "timeseries[0].exemplars.labels_refs"},
	)
	require.Equal(t, []string{"0", "0", "0"}, written(a.Header))
	require.Len(t, readPointsLog(t, l.broker), 2, "exemplars are no points")
}
