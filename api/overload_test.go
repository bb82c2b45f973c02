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
	release, err := c.acquire(route.ChangesGraph, netip.Addr{})
	require.NoError(t, err)
	_, err = c.acquire(route.ChangesGraph, netip.Addr{})
	require.NoError(t, err)
	_, err = c.acquire(route.ChangesGraph, netip.Addr{})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	var public *fault.Error
	require.ErrorAs(t, err, &public)
	require.Positive(t, public.RetryAfter)
	_, err = c.acquire(route.WritesPoints, netip.Addr{})
	require.NoError(t, err, "another kind has its own capacity")
	_, err = c.acquire(route.WritesPoints, netip.Addr{})
	require.True(t, fault.Is(err, fault.Unavailable), "and its own limit: %v", err)
	release()
	_, err = c.acquire(route.ChangesGraph, netip.Addr{})
	require.NoError(t, err, "a release frees capacity")
}

func TestABudgetIsNeverLost(t *testing.T) {
	c := newConcurrencyLimiter(&config.API{MaxRequests: 3}, nil)
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for range 2000 {
				if release, err := c.acquire(route.OtherWork, netip.Addr{}); err == nil {
					require.LessOrEqual(
						t, c.active[route.OtherWork].Load(), int64(3+16), "each refused request is counted for a moment",
					)
					release()
				}
			}
		})
	}
	work.Wait()
	require.Zero(t, c.active[route.OtherWork].Load())
}

func TestProbesAndStreamsAreNotCounted(t *testing.T) {
	c := newConcurrencyLimiter(&config.API{}, nil)
	for _, rt := range []route.Route{
		{Method: http.MethodGet, Pattern: "/readyz", Access: route.Public},
		{Method: http.MethodGet, Pattern: "/api/queries/events", Streaming: true},
		{Method: http.MethodGet, Pattern: "/admin/api/overview", Access: route.Operator},
	} {
		require.False(t, c.appliesTo(&rt), rt.Pattern)
	}
	require.True(t, c.appliesTo(&route.Route{Method: http.MethodPost, Pattern: "/api/rag/search"}))
}
