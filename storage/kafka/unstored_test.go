package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestNothingIsCountedTwiceWhatComesDuringALook: of records of ten bytes, some are answered
// when a look at the log begins, some are on their way, and some come while it lasts.
func TestNothingIsCountedTwiceWhatComesDuringALook(t *testing.T) {
	u := &unstored{}
	put := func(records int) {
		for range records {
			u.handed([]kgo.Record{{Value: make([]byte, 10)}})
		}
	}
	put(4)
	u.acknowledged(0, 0, 10)
	u.acknowledged(0, 1, 10)
	u.failed(0, 10) // one is on its way still
	looked := u.look()
	put(2)
	u.acknowledged(0, 2, 10)
	bytes, own, since := u.behind(0, 0, 3)
	require.EqualValues(t, 20, bytes, "what was answered when it began")
	require.EqualValues(t, 3, own)
	require.EqualValues(t, 1, since)
	_, own, since = u.behind(0, 0, 2)
	require.Equal(t, [2]int64{2, 0}, [2]int64{own, since}, "the offsets were asked for before the third was there")
	require.EqualValues(t, 60, u.unseen(0), "nothing is taken off before it ends")
	u.seen(looked)
	require.EqualValues(t, 30, u.unseen(0), "what was on its way, and what came meanwhile")

	u.acknowledged(0, 3, 10)
	u.acknowledged(0, 4, 10)
	u.seen(u.look())
	require.Zero(t, u.unseen(0))
	bytes, own, since = u.behind(0, 1, 5)
	require.Equal(t, [3]int64{40, 4, 0}, [3]int64{bytes, own, since})
	bytes, own, since = u.behind(0, 5, 5)
	require.Equal(t, [3]int64{}, [3]int64{bytes, own, since}, "all is committed")
}
