package points

import (
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
)

func TestRecordsAreUsedAgainByWhatTheyHaveRoomFor(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	rec := &record{kafka: &kgo.Record{}}
	rec.Spans = make([]pointblock.Span, 7, 1000)
	c.putRecord(rec)
	require.Equal(t, 1000, c.records.Size())
	reused := c.getRecord()
	require.Same(t, rec, reused)
	require.Nil(t, reused.kafka)
	require.Empty(t, reused.Spans)
	c.putRecord(&record{})
	require.Zero(t, c.records.Len(), "a record without capacity is not pooled")
	require.False(t, refersToItsBytes(t, c), "the bytes are released")
}

// refersToItsBytes decodes a record, puts it back, and reports whether its bytes are still reachable.
func refersToItsBytes(t *testing.T, c *Consumer) bool {
	t.Helper()
	var e pointblock.Encoder
	e.Reset(uuid.New(), 1)
	id := pointblock.Identity{Source: uuid.New(), Metric: "m", Kind: pointblock.KindNumber}
	require.NoError(t, e.AppendNumbers(pointblock.SeriesRef{ID: 1}, &id, []int64{1}, []float64{2}))
	rec, err := c.decode(&kgo.Record{Value: slices.Clone(e.Bytes())})
	require.NoError(t, err)
	require.Len(t, rec.Spans, 1)
	value := weak.Make(&rec.kafka.Value[0])
	require.NotNil(t, value.Value())
	c.putRecord(rec)
	runtime.GC()
	defer runtime.KeepAlive(rec)
	return value.Value() != nil
}

func TestABatchOfManySpansIsFull(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	b := &batch{c: c}
	var e pointblock.Encoder
	source := uuid.New()
	const perRecord = 10_000
	for b.spans < maxBatchSpans {
		require.False(t, b.Full())
		e.Reset(uuid.New(), 1)
		for i := range perRecord {
			id := pointblock.Identity{Source: source, Metric: "m", Kind: pointblock.KindNumber}
			require.NoError(t, e.AppendNumbers(pointblock.SeriesRef{ID: uint64(i)}, &id, []int64{1}, []float64{2}))
		}
		for _, m := range e.AppendMessages(nil, 0) {
			require.NoError(t, b.Add(&kgo.Record{Value: m.Value}))
		}
	}
	require.True(t, b.Full())
	require.Equal(t, maxBatchSpans, b.Rows())
}

func TestColumnsOfLargeBatchesAreReleasedWhenBatchesAreSmall(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	withCapacity := func(capacity, rows int) *columns {
		created := newColumns()
		created.points.TS = make([]int64, rows, capacity)
		return created
	}
	large := withCapacity(1_000_000, 900_000)
	c.putColumns(large)
	require.Same(t, large, c.getColumns(), "they are reused")
	c.putColumns(withCapacity(1_000_000, 100_000))
	require.Zero(t, c.columns.Len())
	c.putColumns(withCapacity(100_000, 1))
	require.Equal(t, 1, c.columns.Len(), "a small capacity is kept however few rows there were")
}

func TestARecordThatIsLeftOutLeavesNothingBehind(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	b := &workspaceBatch{batch: &batch{c: c}, workspace: uuid.New()}
	var e pointblock.Encoder
	e.Reset(uuid.New(), 1)
	for i := range 100 {
		id := pointblock.Identity{Source: uuid.New(), Metric: "m", Kind: pointblock.KindNumber}
		require.NoError(t, e.AppendNumbers(pointblock.SeriesRef{ID: uint64(i)}, &id, []int64{1}, []float64{2}))
	}
	value := e.AppendMessages(nil, 0)[0].Value
	require.NoError(t, b.Add(&kgo.Record{Value: value}))
	require.Zero(t, b.spans, "it is not counted")
	require.Zero(t, b.Rows())
	require.Equal(t, 1, c.records.Len(), "it is returned to the pool")
	require.Error(t, b.Add(&kgo.Record{Value: value, Headers: []kgo.RecordHeader{
		{Key: kafka.HeaderVersion, Value: []byte("none")},
	}}))
	require.Equal(t, 1, c.records.Len(), "a record that cannot be stored is returned, too")
	require.Zero(t, b.spans)
}
