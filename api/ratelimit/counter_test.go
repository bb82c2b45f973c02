package ratelimit_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/ratelimit"
)

func TestAttemptsAreCountedByTheWindow(t *testing.T) {
	c := ratelimit.NewCounter(2, time.Minute)
	begins := time.Unix(600, 0)
	require.Zero(t, c.Take("a", begins))
	require.Zero(t, c.Take("a", begins.Add(10*time.Second)))
	require.Equal(t, 40*time.Second, c.Take("a", begins.Add(20*time.Second)))
	require.Equal(t, time.Second, c.Take("a", begins.Add(59*time.Second)), "a refused action is not counted")
	require.Zero(t, c.Take("b", begins.Add(59*time.Second)))
	require.Zero(t, c.Take("a", begins.Add(time.Minute)))
	require.Equal(t, 1, c.Callers())
	c.Undo("a")
	c.Undo("a")
	require.Zero(t, c.Callers())
	require.Zero(t, c.Take("a", begins.Add(time.Minute)))
	require.Zero(t, c.Take("a", begins.Add(time.Minute)))
	require.NotZero(t, c.Take("a", begins.Add(time.Minute)), "a second Undo has no effect")
}

func TestACallerIsAnAddressOrANetworkOfSixtyFourBits(t *testing.T) {
	same := func(a, b string) bool {
		return ratelimit.Network(netip.MustParseAddr(a)) == ratelimit.Network(netip.MustParseAddr(b))
	}
	require.True(t, same("203.0.113.7", "::ffff:203.0.113.7"))
	require.False(t, same("203.0.113.7", "203.0.113.8"))
	require.True(t, same("2001:db8::1", "2001:db8::ffff:1"))
	require.True(t, same("fe80::1%eth0", "fe80::2%eth1"))
	require.False(t, same("2001:db8::1", "2001:db8:0:1::1"))
}
