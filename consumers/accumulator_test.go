package consumers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// wordHandler is a Handler whose records are words, one row each. Its batches refuse to add "?",
// and Store refuses "!".
type wordHandler struct {
	stored   []string
	failOnce bool // the next Store fails temporarily
}

func (*wordHandler) Reset()                    {}
func (*wordHandler) Discontinued(int32, int64) {}
func (w *wordHandler) NewBatch() Batch         { return &wordBatch{handler: w} }
func (*wordHandler) Version(*kgo.Record) uint64 {
	return 1
}
func (*wordHandler) Advance(context.Context, map[int32]int64) error { return nil }
func (*wordHandler) Start(context.Context, map[int32]int64) (map[int32]int64, error) {
	return nil, nil
}

type wordBatch struct {
	handler *wordHandler
	text    []string
}

func (b *wordBatch) Add(r *kgo.Record) error {
	if string(r.Value) == "?" {
		return errors.New("no word")
	}
	b.text = append(b.text, string(r.Value))
	return nil
}
func (b *wordBatch) Rows() int                   { return len(b.text) }
func (b *wordBatch) Full() bool                  { return slices.Contains(b.text, "enough") }
func (*wordBatch) Prepare(context.Context) error { return nil }
func (*wordBatch) Release()                      {}
func (b *wordBatch) Store(context.Context) error {
	switch {
	case b.handler.failOnce:
		b.handler.failOnce = false
		return errors.New("away")
	case slices.Contains(b.text, "!"):
		return Permanent(errors.New("refused"))
	}
	b.handler.stored = append(b.handler.stored, b.text...)
	return nil
}

func records(text ...string) []*kgo.Record {
	var all []*kgo.Record
	for i, s := range text {
		all = append(all, &kgo.Record{Offset: int64(i), Value: []byte(s), Timestamp: time.Now()})
	}
	return all
}

func newTestAccumulator() *accumulator {
	return newAccumulator(Config{BatchRows: 4, BatchBytes: 1000, BatchWait: 100 * time.Millisecond}, &wordHandler{})
}

// requireNext requires that next returns a batch with the given number of rows after the given
// time. It does not finish the batch.
func requireNext(t *testing.T, in *accumulator, rows int, after time.Duration) *batch {
	t.Helper()
	began := time.Now()
	b := in.next(t.Context())
	require.NotNil(t, b)
	require.Equal(t, rows, b.Rows())
	require.Equal(t, after, time.Since(began))
	return b
}

func TestABatchIsTakenAtOnceWhenTheLogIsDrainedThenAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.add(records("a"), true)
		in.finish(requireNext(t, in, 1, 0))
		in.add(records("b"), true)
		in.finish(requireNext(t, in, 1, 100*time.Millisecond))
		time.Sleep(time.Second)
		in.add(records("c"), true)
		in.finish(requireNext(t, in, 1, 0))
	})
}

// TestSmallBatchesThatTakeLongAreFewer stores batches of one row, and then a full one.
func TestSmallBatchesThatTakeLongAreFewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.cfg.MaxWait = 300 * time.Millisecond
		next := func(wait, took time.Duration, text ...string) {
			in.add(records(text...), true)
			b := requireNext(t, in, len(text), wait)
			time.Sleep(took)
			in.finish(b)
		}
		next(0, 20*time.Millisecond, "a")
		next(80*time.Millisecond, 70*time.Millisecond, "b")
		next(140*time.Millisecond, 200*time.Millisecond, "c")
		next(100*time.Millisecond, 50*time.Millisecond, "d") // 300 ms after c was taken, not 600
		next(100*time.Millisecond, 0, "e")
		next(0, 200*time.Millisecond, "f", "g", "h", "i") // full
		next(0, 0, "j")
	})
}

func TestWhileMoreIsToComeABatchIsTakenAtItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.add(records("a"), false)
		time.Sleep(30 * time.Millisecond)
		in.add(records("b"), false)
		requireNext(t, in, 2, 70*time.Millisecond)
	})
}

func TestABatchThatHasEnoughByItsOwnMeasureIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.add(records("a"), true)
		requireNext(t, in, 1, 0) // it stays in flight
		in.add(records("b", "enough"), false)
		closed, done := context.WithCancel(t.Context())
		done()
		require.False(t, in.waitForSpace(closed), "no more is polled")
		requireNext(t, in, 2, 0)
	})
}

func TestWhileOneIsStoredTheNextGathersUntilItIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.add(records("a"), true)
		first := requireNext(t, in, 1, 0)
		in.add(records("b"), true)
		time.AfterFunc(time.Second, func() { in.add(records("c"), true) })
		time.AfterFunc(2*time.Second, func() { in.finish(first) })
		requireNext(t, in, 2, 2*time.Second)

		in.add(records("d", "e", "f", "g"), false)
		requireNext(t, in, 4, 0)
	})
}

func TestAFullBatchBlocksPollingUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		require.True(t, in.waitForSpace(t.Context()))
		in.add(records("a", "b", "c", "d"), false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, in.waitForSpace(ctx))
		requireNext(t, in, 4, 0)
		require.True(t, in.waitForSpace(t.Context()))
	})
}

func TestAFlushWaitsForEverythingThatWasAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.add(records("a"), true)
		first := requireNext(t, in, 1, 0)
		in.add(records("b"), false)
		flushed := make(chan bool, 1)
		go func() { flushed <- in.flush(t.Context()) }()
		synctest.Wait()
		second := requireNext(t, in, 1, 0)
		in.finish(second)
		synctest.Wait()
		require.Empty(t, flushed)
		in.finish(first)
		require.True(t, <-flushed)

		in.add(records("c"), false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, in.flush(ctx), "the batch is not taken")
	})
}

func TestAClosedAccumulatorReturnsItsRecordsAndThenNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newTestAccumulator()
		in.add(records("a"), false)
		in.close()
		requireNext(t, in, 1, 0)
		require.Nil(t, in.next(t.Context()))
	})
}

func TestAnUnreadableRecordIsADeadLetterOfItsBatch(t *testing.T) {
	in := newTestAccumulator()
	in.add(records("a", "?", "b"), true)
	b := in.next(t.Context())
	require.Len(t, b.records, 2)
	require.Len(t, b.deadLetters, 1)
	require.Equal(t, "unreadable: no word", b.deadLetters[0].Reason)
	require.EqualValues(t, 3, b.next[0].Offset)
}

func TestARefusedBatchIsHalvedUntilTheBadRecordIsAlone(t *testing.T) {
	handler := &wordHandler{failOnce: true}
	l := New(Config{}, handler, nil, slog.New(slog.DiscardHandler), nil)
	all := records("a", "b", "!", "c", "d", "e", "!", "f")
	b := handler.NewBatch()
	for _, r := range all {
		require.NoError(t, b.Add(r))
	}
	deadLetters, err := l.storeOrHalve(t.Context(), b, all)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, handler.stored)
	require.Len(t, deadLetters, 2)
	require.EqualValues(t, 2, deadLetters[0].Record.Offset)
	require.EqualValues(t, 6, deadLetters[1].Record.Offset)
	require.EqualValues(t, 1, l.Metrics().Retries.Load())
	require.EqualValues(t, 6, l.Metrics().Rows.Load())
}

func TestOffsetsAreWatchedForGapsAndSteppingBack(t *testing.T) {
	var c continuity
	c.setStart(map[int32]int64{0: 5})
	lost, backwards := c.check([]*kgo.Record{
		{Offset: 5}, {Offset: 6}, {Offset: 9, LeaderEpoch: 7}, {Partition: 1, Offset: 100},
	})
	require.Nil(t, backwards)
	require.EqualValues(t, 2, lost)
	_, backwards = c.check([]*kgo.Record{{Offset: 3}})
	require.Equal(t, &step{next: kgo.EpochOffset{Epoch: 7, Offset: 10}}, backwards)
}
