package points

import (
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
)

func TestRecordsAreUsedAgainByWhatTheyHaveRoomFor(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	rec := &record{Record: pointblock.Record{Spans: make([]pointblock.Span, 7, 1000)}, kafka: &kgo.Record{}}
	rec.Spans[6].Count = 1
	c.giveRecord(rec)
	require.Equal(t, 1000, c.records.Size())
	again := c.takeRecord()
	require.Same(t, rec, again)
	require.Nil(t, again.kafka)
	require.Empty(t, again.Spans)
	require.Zero(t, again.Spans[:7][6], "nothing of what it held is left")
	c.giveRecord(&record{})
	require.Zero(t, c.records.Len(), "one without room is not worth keeping")
}

func TestABatchOfManySpansIsFull(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	b := &batch{c: c}
	var e pointblock.Encoder
	source := uuid.New()
	const perRecord = 10_000
	for b.spans < batchSpans {
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
	require.Equal(t, batchSpans, b.Rows())
}

func TestColumnsOfLargeBatchesGoWhenBatchesAreSmall(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	made := func(room, rows int) *columns {
		held := newColumns()
		held.points.TS = make([]int64, rows, room)
		return held
	}
	large := made(1_000_000, 900_000)
	c.giveColumns(large)
	require.Same(t, large, c.takeColumns(), "they are used again")
	c.giveColumns(made(1_000_000, 100_000))
	require.Zero(t, c.columns.Len())
	c.giveColumns(made(100_000, 1))
	require.Equal(t, 1, c.columns.Len(), "little is kept however few rows there were")
}

func TestARecordThatIsLeftOutLeavesNothingBehind(t *testing.T) {
	c := newCore(Deps{Logger: slog.New(slog.DiscardHandler)})
	b := &ofWorkspace{batch: &batch{c: c}, workspace: uuid.New()}
	var e pointblock.Encoder
	e.Reset(uuid.New(), 1)
	for i := range 100 {
		id := pointblock.Identity{Source: uuid.New(), Metric: "m", Kind: pointblock.KindNumber}
		require.NoError(t, e.AppendNumbers(pointblock.SeriesRef{ID: uint64(i)}, &id, []int64{1}, []float64{2}))
	}
	whole := e.AppendMessages(nil, 0)[0].Value
	require.NoError(t, b.Add(&kgo.Record{Value: whole}))
	require.Zero(t, b.spans, "it counts for nothing")
	require.Zero(t, b.Rows())
	require.Equal(t, 1, c.records.Len(), "its memory is given back")
	require.Error(t, b.Add(&kgo.Record{Value: whole, Headers: []kgo.RecordHeader{
		{Key: kafka.HeaderVersion, Value: []byte("none")},
	}}))
	require.Equal(t, 1, c.records.Len(), "that of one that cannot be stored, too")
	require.Zero(t, b.spans)
}
