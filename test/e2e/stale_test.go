package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// rebalanceTimeout limits the time until another consumer takes over the partitions of a paused one,
// and until that one rejoins. The paused consumer's session has to expire first.
const rebalanceTimeout = time.Minute

// TestAConsumerThatWakesUpAfterItsSessionChangesNothing pauses a consumer with fetched records until
// another one has taken over its partitions, has stored newer values of the same points, and has
// deleted a source. When the first one resumes, its inserts and commits must not restore old data.
func TestAConsumerThatWakesUpAfterItsSessionChangesNothing(t *testing.T) {
	t.Parallel()
	const kept = 8
	s := startSplit(t)
	api, stale := s.api(0), s.ByRole("points")[0]
	require.Eventually(t, func() bool {
		return stale.CountLogLines("partitions assigned") > 0
	}, rebalanceTimeout, 10*time.Millisecond)
	var sources []string
	for i := range kept {
		sources = append(sources, api.createSource(fmt.Sprintf("kept-%d", i)))
	}
	deleted := api.createSource("doomed")
	for _, source := range append(sources, deleted) {
		require.Equal(t, http.StatusCreated, s.api(1).ingestBatch(source, 0))
	}
	stale.Pause() // the points sent above are in a batch that is not stored yet

	api.Do("DELETE", "/api/live-data/sources/"+deleted, nil, http.StatusNoContent, nil)
	const newer = 7.0
	for _, source := range sources {
		var accepted struct{ Checkpoint string }
		api.Do("POST", "/api/live-data/ingest", sameTimes(source, newer), http.StatusCreated, &accepted)
		api.awaitCheckpoint(source, accepted.Checkpoint)
	}
	require.Equal(t, fmt.Sprint(kept*pointsInBatch), s.queryClickHouse("SELECT count() FROM points FINAL"))

	before := stale.CountLogLines("partitions assigned")
	stale.Resume()
	require.Eventually(t, func() bool {
		return stale.CountLogLines("partitions assigned") > before
	}, rebalanceTimeout, 10*time.Millisecond,
		"the consumer comes back")
	for _, source := range sources {
		api.requireTotals(source, pointsInBatch, newer*pointsInBatch)
		api.waitConsumed(source)
		api.requireTotals(source, pointsInBatch, newer*pointsInBatch)
	}
	require.Equal(t, fmt.Sprint(kept*pointsInBatch+kept), s.queryClickHouse("SELECT count() FROM points FINAL"),
		"with one probe a source, and nothing of the deleted one")
	for _, process := range s.All() {
		require.Zero(t, process.Stop())
	}
}

func (s *server) ingestBatch(source string, n int) (status int) {
	s.t.Helper()
	a, err := s.Try("POST", "/api/live-data/ingest", batch{n}.body(source))
	require.NoError(s.t, err)
	return a.Status
}

// sameTimes returns points at the times of batch 0, all with one value.
func sameTimes(source string, value float64) map[string]any {
	times, values := make([]int64, pointsInSeries), make([]float64, pointsInSeries)
	for p := range pointsInSeries {
		times[p], values[p] = epoch.Add(time.Duration(p)*time.Second).UnixMilli(), value
	}
	var series []any
	for m := range seriesPerBatch {
		series = append(series, map[string]any{"metric": fmt.Sprintf("m%d", m), "timestamps": times, "values": values})
	}
	return map[string]any{"sourceId": source, "series": series}
}

// awaitCheckpoint waits until a checkpoint is visible, for longer than one request waits.
func (s *server) awaitCheckpoint(source, checkpoint string) {
	s.t.Helper()
	query := url.Values{"sourceId": {source}, "metric": {"none"}, "checkpoint": {checkpoint}}
	require.Eventually(s.t, func() bool {
		a, err := s.Try("GET", "/api/live-data/query?"+query.Encode(), nil)
		return err == nil && a.Status == http.StatusOK
	}, rebalanceTimeout, time.Millisecond)
}

// queryClickHouse runs a statement in ClickHouse.
func (s *split) queryClickHouse(statement string) string {
	s.t.Helper()
	return testenv.QueryClickHouse(s.t, s.ClickHouseURL, statement)
}
