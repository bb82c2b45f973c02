package query

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// queue is a store that answers so many queries a second, one after the other, and anyone who
// asks it. Time is made.
type queue struct {
	t         *testing.T
	admission *admission
	now       time.Time
	entered   []time.Time // of those that wait for their answer
	longest   time.Duration
	refused   int
}

func newQueue(t *testing.T) *queue {
	return &queue{t: t, admission: newAdmission(), now: time.Unix(1, 0)}
}

// offer lets so many queries a second come, of which so many are answered, for a while.
func (q *queue) offer(comes, answered float64, seconds int) {
	q.longest, q.refused = 0, 0
	const step = time.Millisecond
	var due, ready float64
	for range seconds * int(time.Second/step) {
		q.now = q.now.Add(step)
		for due += comes * step.Seconds(); due >= 1; due-- {
			err := q.admission.enter(q.now)
			if err == nil {
				q.entered = append(q.entered, q.now)
				continue
			}
			q.refused++
			require.True(q.t, fault.Is(err, fault.Unavailable), "%v", err)
			var public *fault.Error
			require.ErrorAs(q.t, err, &public)
			require.Positive(q.t, public.RetryAfter)
		}
		for ready += answered * step.Seconds(); ready >= 1; ready-- {
			if len(q.entered) == 0 {
				ready = 0
				break
			}
			q.longest = max(q.longest, q.now.Sub(q.entered[0]))
			q.admission.leave(q.now)
			q.entered = q.entered[1:]
		}
	}
}

func TestQueriesThatAreAnsweredInTimeAreAllLetIn(t *testing.T) {
	q := newQueue(t)
	q.offer(90, 100, 60)
	require.Zero(t, q.refused)
}

func TestUnderOverloadThoseLetInAreAnsweredInTimeAndTheRestIsRefused(t *testing.T) {
	for _, answered := range []float64{20, 64, 1000} {
		q := newQueue(t)
		q.offer(3*answered, answered, 60)
		require.Less(t, q.longest, admissionPatience*2)
		require.InDelta(t, 60*2*answered, q.refused, 60*answered*0.1, "as many as cannot be answered, no more")
		q.offer(answered/2, answered, 4) // those inside are answered
		q.offer(answered*0.9, answered, 60)
		require.Zero(t, q.refused, "it is over")
	}
}

func TestManyThatComeAtOnceAfterFewAreLetIn(t *testing.T) {
	q := newQueue(t)
	q.offer(1, 100, 10)
	require.NoError(t, q.admission.enter(q.now)) // and takes long
	q.now = q.now.Add(time.Hour)
	for range 500 {
		require.NoError(t, q.admission.enter(q.now))
	}
	q.now = q.now.Add(10 * time.Millisecond)
	q.admission.leave(q.now)
	for range 500 {
		require.NoError(t, q.admission.enter(q.now))
	}
}

func TestAFewSlowQueriesAreNotOverload(t *testing.T) {
	q := newQueue(t)
	at := q.now
	for range 100 {
		for range fewestAdmitted {
			require.NoError(t, q.admission.enter(q.now))
		}
		at = at.Add(10 * time.Second)
		for range fewestAdmitted {
			q.admission.leave(at)
		}
	}
	require.Equal(t, int64(mostAdmitted), q.admission.limit.Load())
	for range mostAdmitted {
		require.NoError(t, q.admission.enter(q.now))
	}
	require.Error(t, q.admission.enter(q.now))
}
