package points

import (
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// sized gives a record whose spans have room for so many.
func sized(room int) *record {
	return &record{Record: pointblock.Record{Spans: make([]pointblock.Span, 0, room)}}
}

func TestSpareRecordsFollowTheSizeOfRecords(t *testing.T) {
	c := &Consumer{}
	const small, large = 1000, 100_000
	for range 2 * spareSpans / small {
		c.giveRecord(sized(small))
	}
	require.Len(t, c.spare.list, spareSpans/small)
	for range spareSpans / large {
		c.giveRecord(sized(large))
	}
	require.Len(t, c.spare.list, spareSpans/large, "the small ones go when records are large")
	require.Equal(t, spareSpans, c.spare.spans)
	c.giveRecord(sized(spareSpans + 1))
	require.Len(t, c.spare.list, spareSpans/large, "one that is too large is not kept")
	for range spareSpans / large {
		require.Equal(t, large, cap(c.takeRecord().Spans))
	}
	require.Zero(t, c.spare.spans)
	for _, kept := range c.spare.list[:cap(c.spare.list)] {
		require.Nil(t, kept, "the list keeps nothing that was taken from it")
	}
	require.Zero(t, cap(c.takeRecord().Spans))
}

func TestABatchOfManySpansIsFull(t *testing.T) {
	c := &Consumer{graves: newGraves()}
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
		held.points.Series = make([]uint64, rows, room)
		return held
	}
	large := made(1_000_000, 900_000)
	c.giveColumns(large)
	require.Same(t, large, c.takeColumns(), "they are used again")
	c.giveColumns(made(1_000_000, 100_000))
	require.Empty(t, c.columns)
	c.giveColumns(made(100_000, 1))
	require.Len(t, c.columns, 1, "little is kept however few rows there were")
}
