package clickhouse

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStatementsOfAPassTakeAsManyDaysAsSuitTheirTime(t *testing.T) {
	days := int64(1)
	for range 20 {
		days = nextDays(days, time.Millisecond)
	}
	require.EqualValues(t, maxStatementDays, days, "days with few points share a statement, at most a month")
	require.Equal(t, days, nextDays(days, time.Second))
	for range 20 {
		days = nextDays(days, time.Minute)
	}
	require.EqualValues(t, 1, days)
}

func TestOnlyDaysThatFollowEachOtherAreTakenTogether(t *testing.T) {
	require.Equal(t, 3, consecutive([]uint32{4, 5, 6, 8, 9}, 31))
	require.Equal(t, 2, consecutive([]uint32{4, 5, 6}, 2))
	require.Equal(t, 1, consecutive([]uint32{4, 6}, 31))
	require.Equal(t, 1, consecutive([]uint32{4}, 1))
}
