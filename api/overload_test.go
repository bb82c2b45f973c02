package api

import (
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

func TestWhoComesBeyondTheLimitIsRefusedAtOnceUntilOthersLeave(t *testing.T) {
	c := newConcurrencyLimiter(&config.API{MaxWrites: 1, MaxRequests: 2}, nil)
	first, err := c.enter(route.ChangesGraph, netip.Addr{})
	require.NoError(t, err)
	_, err = c.enter(route.ChangesGraph, netip.Addr{})
	require.NoError(t, err)
	_, err = c.enter(route.ChangesGraph, netip.Addr{})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	var public *fault.Error
	require.ErrorAs(t, err, &public)
	require.Positive(t, public.RetryAfter)
	_, err = c.enter(route.WritesPoints, netip.Addr{})
	require.NoError(t, err, "another kind has its own room")
	_, err = c.enter(route.WritesPoints, netip.Addr{})
	require.True(t, fault.Is(err, fault.Unavailable), "and its own limit: %v", err)
	first()
	_, err = c.enter(route.ChangesGraph, netip.Addr{})
	require.NoError(t, err, "who leaves makes room")
}

func TestRoomIsNeverLostWhoeverComesAndGoes(t *testing.T) {
	c := newConcurrencyLimiter(&config.API{MaxRequests: 3}, nil)
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for range 2000 {
				if leave, err := c.enter(route.OtherWork, netip.Addr{}); err == nil {
					require.LessOrEqual(
						t, c.inside[route.OtherWork].Load(), int64(3+16), "each that is refused is counted for a moment",
					)
					leave()
				}
			}
		})
	}
	work.Wait()
	require.Zero(t, c.inside[route.OtherWork].Load())
}

func TestProbesAndStreamsAreNotCounted(t *testing.T) {
	c := newConcurrencyLimiter(&config.API{}, nil)
	for _, rt := range []route.Route{
		{Method: http.MethodGet, Pattern: "/readyz", Access: route.Public},
		{Method: http.MethodGet, Pattern: "/api/queries/events", Lasts: true},
		{Method: http.MethodGet, Pattern: "/admin/api/overview", Access: route.Operator},
	} {
		require.False(t, c.counted(&rt), rt.Pattern)
	}
	require.True(t, c.counted(&route.Route{Method: http.MethodPost, Pattern: "/api/rag/search"}))
}
