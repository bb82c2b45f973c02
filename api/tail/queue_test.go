package tail

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneSlowReaderTakesAtMostHalfOfTheRoom(t *testing.T) {
	b := &budget{limit: 1000}
	slow, fast := newQueue(b), newQueue(b)
	put := func(q *queue, bytes int64) bool { return q.put(Delivery{bytes: bytes}) }
	for range 5 {
		require.False(t, put(slow, 100))
		require.False(t, put(fast, 100))
		list, dropped := fast.take()
		require.Len(t, list, 1)
		require.Empty(t, dropped)
	}
	require.EqualValues(t, 600, b.used.Load(), "the deliveries taken last are held until the next call")
	require.True(t, put(slow, 100))
	require.EqualValues(t, 100, b.used.Load(), "a dropped stream holds nothing")
	list, dropped := slow.take()
	require.Empty(t, list)
	require.Equal(t, SlowReader, dropped)
	require.False(t, put(slow, 1), "it is dropped once")
	require.False(t, slow.drained())
	require.False(t, put(fast, 450))

	fast.take()
	fast.drop(LogChanged)
	require.EqualValues(t, 450, b.used.Load(), "the deliveries that are being sent")
	fast.close()
	slow.close()
	require.Zero(t, b.used.Load())
}

func TestADeliveryBeyondTheRoomIsNotTaken(t *testing.T) {
	b := &budget{limit: 1000}
	q := newQueue(b)
	require.True(t, q.put(Delivery{bytes: 1001}))
	require.Zero(t, b.used.Load())
	unbounded := newQueue(nil)
	require.False(t, unbounded.put(Delivery{bytes: 1 << 40}))
	list, _ := unbounded.take()
	require.Len(t, list, 1)
}

// seenLog is a log whose topic was confirmed just now. It has no other methods.
type seenLog struct{ pointsLog }

func (seenLog) PointsObservedAt() time.Time { return time.Now() }

func TestWhatWasCaughtUpWithDoesNotComeAgain(t *testing.T) {
	hub := &Hub{deps: Deps{Log: seenLog{}}}
	s := &Stream{
		hub: hub, sub: &subscriber{queue: newQueue(&budget{limit: 1000})},
		position: Position{Next: map[int32]int64{0: 10, 1: 5}},
	}
	for _, d := range []Delivery{
		{partition: 0, next: 9}, {partition: 1, next: 6}, {partition: 0, next: 10}, {partition: 0, next: 11},
		{partition: 1, next: 8},
	} {
		s.sub.queue.put(d)
	}
	list, _ := s.Receive()
	require.Len(t, list, 3)
	for i := range list {
		s.MarkSent(&list[i])
	}
	require.Equal(t, map[int32]int64{0: 11, 1: 8}, s.Position().Next)
}
