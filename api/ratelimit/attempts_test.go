package ratelimit_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/ratelimit"
)

func TestFailedAuthenticationsAreLimitedByAddress(t *testing.T) {
	attempts := ratelimit.NewAttempts(3, nil)
	now := time.Date(2026, 11, 21, 12, 0, 10, 500_000_000, time.UTC)
	fail := func(address string, at time.Time) time.Duration {
		return attempts.Failed(netip.MustParseAddr(address), at)
	}
	for range 3 {
		require.Zero(t, fail("10.0.0.1", now))
	}
	require.Equal(t, 49500*time.Millisecond, fail("10.0.0.1", now))
	require.Equal(t, 49500*time.Millisecond, fail("::ffff:10.0.0.1", now), "the same address as an IPv6 address")
	require.Zero(t, fail("10.0.0.2", now))
	require.Zero(t, fail("10.0.0.1", now.Add(49500*time.Millisecond)), "a new minute")

	for _, address := range []string{"2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::1%eth0"} {
		require.Zero(t, fail(address, now))
	}
	require.Positive(t, fail("2001:db8::3", now), "a network of 64 bits is one caller")
	require.Zero(t, fail("2001:db8:0:1::3", now))
	require.Zero(t, attempts.Failed(netip.Addr{}, now), "an unknown address")
}

func TestAnyNumberOfFailuresWhereThereIsNoLimit(t *testing.T) {
	attempts := ratelimit.NewAttempts(0, nil)
	for range 100 {
		require.Zero(t, attempts.Failed(netip.MustParseAddr("10.0.0.1"), time.Now()))
	}
}

func TestManyAddressesTakeBoundedMemory(t *testing.T) {
	registry := prometheus.NewRegistry()
	attempts := ratelimit.NewAttempts(100_000, registry)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for n := range uint32(60_000) {
		var address [4]byte
		binary.BigEndian.PutUint32(address[:], n)
		require.Zero(t, attempts.Failed(netip.AddrFrom4(address), now))
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	require.InDelta(t, 40_000, families[0].GetMetric()[0].GetGauge().GetValue(), 2_000, "of 65,536 slots")
	attempts.Failed(netip.MustParseAddr("10.0.0.1"), now.Add(time.Minute))
	families, err = registry.Gather()
	require.NoError(t, err)
	require.EqualValues(t, 1, families[0].GetMetric()[0].GetGauge().GetValue(), "a new minute begins with none")
}
