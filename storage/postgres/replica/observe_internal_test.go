package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLagIsTheTimeSinceThePrimaryWasThere(t *testing.T) {
	began := time.Date(2026, 11, 21, 7, 40, 8, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	o := &observer{}
	for i := range 10 { // the primary is at 100 × i after i seconds
		o.add(sample{at: at(i), position: position{timeline: 1, lsn: int64(100 * i)}})
	}
	require.Equal(t, 9*time.Second, o.lag(at(9)), "nothing is known of the replica")
	o.replayed(position{timeline: 1, lsn: 350})
	require.Equal(t, 6*time.Second, o.lag(at(9)))
	require.Equal(t, 8*time.Second, o.lag(at(11)), "it grows while nothing is observed")
	o.replayed(position{timeline: 1, lsn: 300})
	require.Equal(t, 6*time.Second, o.lag(at(9)), "the order of the observations does not matter")
	o.replayed(position{timeline: 1, lsn: 900})
	require.Zero(t, o.lag(at(100)), "the replica has everything")
}

func TestAPositionOfAnotherTimelineIsNotIncluded(t *testing.T) {
	old, promoted := position{timeline: 1, lsn: 500}, position{timeline: 2, lsn: 450}
	require.False(t, old.includes(promoted), "the log up to 500 is not that of the new primary")
	require.False(t, promoted.includes(old))
	require.True(t, promoted.includes(promoted))
	o := &observer{}
	o.add(sample{at: time.Now(), position: old})
	o.add(sample{at: time.Now(), position: promoted})
	require.Len(t, o.pending, 1)
}

func TestTheMemoryOfAnObserverIsBounded(t *testing.T) {
	o := &observer{}
	for i := range 3 * maxSamples {
		o.add(sample{at: time.Now(), position: position{timeline: 1, lsn: int64(i)}})
	}
	require.Len(t, o.pending, maxSamples)
	o.replayed(position{timeline: 1, lsn: 3 * maxSamples})
	require.Empty(t, o.pending)
}

func TestThePositionAtTheBeginningOfAPageIsTheEndOfTheRecordBefore(t *testing.T) {
	for lsn, want := range map[int64]int64{8192 + 24: 8192, 8192 + 48: 8192 + 48, 8192: 8192} {
		require.Equal(t, want, position{lsn: lsn}.endOfRecord().lsn)
	}
}
