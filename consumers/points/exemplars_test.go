package points_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// exemplarMessages returns the messages of one request with exemplars of a series, and a point of another.
func (w *fixture) exemplarMessages(s series, ts []int64, texts ...string) []pointblock.Message {
	w.tb.Helper()
	w.encoder.Reset(w.workspace, t0)
	other := w.numberSeries(s.source, "beside")
	require.NoError(w.tb, w.encoder.AppendNumbers(other.ref(w), other.identity(w), times(0), []float64{7}))
	require.NoError(w.tb, w.encoder.AppendExemplars(s.ref(w), s.identity(w), ts, texts))
	return w.encodedMessages(s.source)
}

// exemplars returns the exemplars of a series that a query returns, as "seconds since t0 labels value".
func (w *fixture) exemplars(s series) (list []string) {
	w.tb.Helper()
	found, more, err := timeseries.New(w.points).Exemplars(w.tb.Context(), timeseries.ExemplarQuery{
		Series: []uint64{s.ref(w).ID}, Limit: 100,
		Range: timeseries.Range{ToUS: math.MaxInt64 / 4, Hidden: w.hidden(s)},
	})
	require.NoError(w.tb, err)
	require.False(w.tb, more)
	for _, x := range found[s.ref(w).ID] {
		list = append(list, strings.ReplaceAll(x.Labels, `"`, "")+" "+time.UnixMicro(x.TS).UTC().Format("05")+
			" "+map[float64]string{1: "one", 2: "two", 3: "three"}[x.Value])
	}
	return list
}

func specialSeries(source uuid.UUID, metric string) series {
	return series{source: source, metric: metric, kind: pointblock.KindSpecial}
}

func TestExemplarsAreStoredOnceAndDeletedLikePoints(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		w := newFixture(t, broker)
		w.maintenanceRuns = true // do not start it yet
		w.consumeOnly()
		s, same, gone := specialSeries(uuid.New(), "m"), specialSeries(uuid.New(), "m"), specialSeries(uuid.New(), "m")
		w.produce(
			w.exemplarMessages(s, times(0, 1), "{\"a\":\"1\"} 1\n{\"b\":\"1\"} 2", `{} 3`),
			w.exemplarMessages(s, times(0), `{"b":"1"} 3`), // the same with another value
			w.exemplarMessages(s, times(1), `{} 3`),        // again
			w.exemplarMessages(same, times(0, 1, 2), `{} 1`, `{} 2`, `{} 3`),
			w.exemplarMessages(gone, times(0), `{} 1`),
		)
		w.waitConsumedWithin(time.Minute)
		stored := []string{"{a:1} 10 one", "{b:1} 10 three", "{} 11 three"}
		require.Equal(t, stored, w.exemplars(s))
		require.Equal(t, "beside\t1\nm\t3", w.query("SELECT DISTINCT metric, kind FROM series ORDER BY metric"))
		require.Equal(t, "0", w.query("SELECT count() FROM states"), "they are no points")
		require.Equal(t, "0", w.query("SELECT count() FROM latest WHERE text != ''"))

		w.produce(w.deletionMessages(pointblock.Deletion{
			Source: same.source, Metric: "m", HasMetric: true,
			FromUS: t0 + second, HasFrom: true, ToUS: t0 + 2*second, HasTo: true,
		}), w.deletionMessages(pointblock.Deletion{Source: same.source, Metric: "other", HasMetric: true}))
		w.produce(w.deletionMessages(pointblock.Deletion{Source: gone.source, WholeSource: true}))
		w.produce(w.exemplarMessages(gone, times(5), `{} 1`))
		w.waitConsumedWithin(time.Minute)
		left := []string{"{} 10 one", "{} 12 three"}
		require.Equal(t, left, w.exemplars(same), "deleted ones are hidden at once")
		require.Empty(t, w.exemplars(gone))
		w.maintenanceRuns = false
		w.runMaintenance()
		w.waitExecuted()
		require.Equal(t, left, w.exemplars(same))
		require.Equal(t, "5", w.query("SELECT count() FROM exemplars FINAL"))
		require.Equal(t, stored, w.exemplars(s), "those of others stay")

		before := w.dump()
		w.runReplays()
		w.query("TRUNCATE TABLE " + w.points.Layout().Stored("exemplars"))
		job := w.waitReplay(w.startReplay(pipelineadmin.ReplayRequest{FromStart: true}).ID)
		require.Equal(t, jobs.ReplayDone, job.State, "%v", job.Error)
		require.Equal(t, before, w.dump(), "a replay stores the exemplars again, and none that was deleted")
	})
}

func TestRecordsWithOtherTextsThanExemplarsAreDeadLetters(t *testing.T) {
	w := newFixture(t, kafkatest.NewKFake(t))
	s := specialSeries(uuid.New(), "m")
	w.consume()
	w.produce(w.exemplarMessages(s, times(0), `{"a":"1"} 1`), w.exemplarMessages(s, times(1), `{"a":1} 1`))
	w.waitSettled()
	require.Equal(t, []string{"{a:1} 10 one"}, w.exemplars(s))
	letters := w.listDeadLetters(pipelineadmin.DeadLetterFilter{})
	require.Len(t, letters, 1)
	require.True(t, slices.ContainsFunc(letters, func(l pipelineadmin.DeadLetter) bool {
		return strings.Contains(l.Reason, "exemplars[0].texts[0]")
	}), "%+v", letters)
}
