package sentbytes

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Of records of ten bytes, some are acknowledged when a measurement starts, some are in flight, and
// some are sent during it.
func TestRecordsSentDuringAMeasurementAreNotCountedTwice(t *testing.T) {
	u := &Counter{}
	put := func(records int) {
		for range records {
			u.AddInFlight([]kgo.Record{{Value: make([]byte, 10)}})
		}
	}
	put(4)
	u.Acknowledged(0, 0, 10)
	u.Acknowledged(0, 1, 10)
	u.Failed(0, 10) // one is still in flight
	looked := u.BeginMeasurement()
	put(2)
	u.Acknowledged(0, 2, 10)
	bytes, own, since := u.Lag(0, 0, 3)
	require.EqualValues(t, 20, bytes, "acknowledged when the measurement started")
	require.EqualValues(t, 3, own)
	require.EqualValues(t, 1, since)
	_, own, since = u.Lag(0, 0, 2)
	require.Equal(t, [2]int64{2, 0}, [2]int64{own, since}, "the offsets were read before the third was in the log")
	require.EqualValues(t, 60, u.Unmeasured(0), "nothing is subtracted before the measurement ends")
	u.EndMeasurement(looked)
	require.EqualValues(t, 30, u.Unmeasured(0), "in flight at the start or sent during the measurement")

	u.Acknowledged(0, 3, 10)
	u.Acknowledged(0, 4, 10)
	u.EndMeasurement(u.BeginMeasurement())
	require.Zero(t, u.Unmeasured(0))
	bytes, own, since = u.Lag(0, 1, 5)
	require.Equal(t, [3]int64{40, 4, 0}, [3]int64{bytes, own, since})
	bytes, own, since = u.Lag(0, 5, 5)
	require.Equal(t, [3]int64{}, [3]int64{bytes, own, since}, "all is committed")
}
