package api

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRequestLogIsLimitedByRoute(t *testing.T) {
	l, now := newRequestLog(2), time.Unix(1000, 0)
	take := func(route string, must bool) (int64, bool) { return l.take(route, now, must) }
	for range 2 {
		omitted, logged := take("/a", false)
		require.True(t, logged)
		require.Zero(t, omitted)
	}
	for range 3 {
		_, logged := take("/a", false)
		require.False(t, logged)
	}
	_, logged := take("/b", false)
	require.True(t, logged, "another route has its own limit")
	omitted, logged := take("/a", true)
	require.True(t, logged, "an error is always logged")
	require.EqualValues(t, 3, omitted)
	_, logged = take("/a", false)
	require.False(t, logged)
	now = now.Add(time.Second)
	omitted, logged = take("/a", false)
	require.True(t, logged)
	require.EqualValues(t, 1, omitted)
}

func TestRequestLogIsUnlimitedByZero(t *testing.T) {
	l := newRequestLog(0)
	for range 1000 {
		omitted, logged := l.take("/a", time.Unix(1000, 0), false)
		require.True(t, logged)
		require.Zero(t, omitted)
	}
}
