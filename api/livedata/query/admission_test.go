package query

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// storeSimulation simulates a store that answers queries one after the other, and its clients,
// with a simulated clock.
type storeSimulation struct {
	t          *testing.T
	admission  *admission
	now        time.Time
	entered    []time.Time // of the queries in the store
	maxLatency time.Duration
	refused    int
}

func newStoreSimulation(t *testing.T) *storeSimulation {
	return &storeSimulation{t: t, admission: newAdmission(), now: time.Unix(1, 0)}
}

// offer simulates the given arrivals and completions a second.
func (q *storeSimulation) offer(arrivals, completions float64, seconds int) {
	q.maxLatency, q.refused = 0, 0
	const step = time.Millisecond
	var due, ready float64
	for range seconds * int(time.Second/step) {
		q.now = q.now.Add(step)
		for due += arrivals * step.Seconds(); due >= 1; due-- {
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
		for ready += completions * step.Seconds(); ready >= 1; ready-- {
			if len(q.entered) == 0 {
				ready = 0
				break
			}
			q.maxLatency = max(q.maxLatency, q.now.Sub(q.entered[0]))
			q.admission.leave(q.now)
			q.entered = q.entered[1:]
		}
	}
}

func TestQueriesThatAreAnsweredInTimeAreAllLetIn(t *testing.T) {
	q := newStoreSimulation(t)
	q.offer(90, 100, 60)
	require.Zero(t, q.refused)
}

func TestUnderOverloadThoseLetInAreAnsweredInTimeAndTheRestIsRefused(t *testing.T) {
	for _, answered := range []float64{20, 64, 1000} {
		q := newStoreSimulation(t)
		q.offer(3*answered, answered, 60)
		require.Less(t, q.maxLatency, targetLatency*2)
		require.InDelta(t, 60*2*answered, q.refused, 60*answered*0.1, "as many as cannot be answered, no more")
		q.offer(answered/2, answered, 4) // the admitted queries complete
		q.offer(answered*0.9, answered, 60)
		require.Zero(t, q.refused, "it is over")
	}
}

func TestManyThatComeAtOnceAfterFewAreLetIn(t *testing.T) {
	q := newStoreSimulation(t)
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
	q := newStoreSimulation(t)
	at := q.now
	for range 100 {
		for range minAdmitted {
			require.NoError(t, q.admission.enter(q.now))
		}
		at = at.Add(10 * time.Second)
		for range minAdmitted {
			q.admission.leave(at)
		}
	}
	require.Equal(t, int64(maxAdmitted), q.admission.limit.Load())
	for range maxAdmitted {
		require.NoError(t, q.admission.enter(q.now))
	}
	require.Error(t, q.admission.enter(q.now))
}
