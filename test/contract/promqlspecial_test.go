package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/test/contract"
)

// TestSpecialValuesAreInPromQLOnly stores the values of series of remote write that are not finite numbers.
func TestSpecialValuesAreInPromQLOnly(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	target := l.createSource(t, `{"name":"node/a","tags":{"job":"node","instance":"a"}}`)
	zone := map[string]string{"zone": "b"}
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "m", tags: zone},
		sample{microsAt(0), 1.0, 1}, sample{microsAt(3 * time.Minute), 2.0, 1})
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "m", tags: zone, special: true},
		sample{microsAt(time.Minute), "NaN", 1}, sample{microsAt(2 * time.Minute), "-Inf", 1},
		sample{microsAt(4 * time.Minute), "stale", 1})
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "alone", special: true}, sample{microsAt(0), "+Inf", 1})

	histogram, _, err := nativehistogram.Append(nil, nativeHistogram(t, 0))
	require.NoError(t, err)
	l.store(t, l.Workspace, seriesKey{source: target.ID, metric: "sizes", special: true},
		sample{microsAt(time.Minute), string(histogram), 1}, sample{microsAt(2 * time.Minute), "stale", 1})

	value := func(query string, d time.Duration) []string { return l.evaluate(t, query, "time", promTime(d)) }
	const name = "{__name__=m instance=a job=node zone=b} "
	require.Equal(t, []string{name + "NaN@60"}, value("m", time.Minute))
	require.Equal(t, []string{name + "-Inf@120"}, value("m", 2*time.Minute))
	require.Equal(t, []string{name + "2@180"}, value("m", 3*time.Minute))
	require.Empty(t, value("m", 4*time.Minute), "the series has ended")
	require.Equal(t, []string{"{instance=a job=node zone=b} 4@240"}, value("count_over_time(m[10m])", 4*time.Minute))
	require.Equal(t, []string{"{__name__=alone instance=a job=node} +Inf@60"}, value("alone", time.Minute))
	require.Len(t, l.labelSets(t, `{job="node"}`), 3)
	require.Equal(t, []string{"{instance=a job=node} 3@60"}, value("histogram_count(sizes)", time.Minute))
	require.Empty(t, value("histogram_count(sizes)", 2*time.Minute), "the series has ended")
	sizes := l.prom(t, "/query", "query", "sizes", "time", promTime(time.Minute))
	require.JSONEq(t, `{"resultType":"vector","result":[{"metric":{"__name__":"sizes","instance":"a","job":"node"},
		"histogram":[1772323260,{"count":"3","sum":"5","buckets":[[0,"1","2","1"],[0,"2","4","2"]]}]}]}`,
		string(sizes.Data))

	require.Equal(t, [][]any{{timestampAt(0), 1.0}, {timestampAt(3 * time.Minute), 2.0}},
		l.query(t, "metric=m&"+rangeParams(time.Hour))[0].Points)
	require.Len(t, l.query(t, rangeParams(time.Hour)), 1)
	require.Len(t, l.query(t, "latest=true&from=2026-01-01T00:00:00Z"), 1)
	require.Len(t, l.query(t, "aggregation=count,last&"+rangeParams(time.Hour)), 1)
	listed := l.Do(t, contract.Request{Path: "/api/live-data/series?limit=1"})
	require.Equal(t, http.StatusOK, listed.Status)
	require.EqualValues(t, 1, listed.Meta.Total)
}
