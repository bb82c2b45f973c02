package api

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/fault"
)

func TestWhoComesBeyondTheLimitIsRefusedAtOnceUntilOthersLeave(t *testing.T) {
	c := newCrowds(2, nil)
	first, err := c.enter(kindGraph)
	require.NoError(t, err)
	_, err = c.enter(kindGraph)
	require.NoError(t, err)
	_, err = c.enter(kindGraph)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	var public *fault.Error
	require.ErrorAs(t, err, &public)
	require.Positive(t, public.RetryAfter)
	_, err = c.enter(kindPoints)
	require.NoError(t, err, "another kind has its own room")
	first()
	_, err = c.enter(kindGraph)
	require.NoError(t, err, "who leaves makes room")
}

func TestRoomIsNeverLostWhoeverComesAndGoes(t *testing.T) {
	c := newCrowds(3, nil)
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for range 2000 {
				if leave, err := c.enter(kindOther); err == nil {
					require.LessOrEqual(t, c.inside[kindOther].Load(), int64(3+16), "each that is refused is counted for a moment")
					leave()
				}
			}
		})
	}
	work.Wait()
	require.Zero(t, c.inside[kindOther].Load())
}

func TestProbesAndStreamsAreNotCounted(t *testing.T) {
	for _, c := range []struct {
		rt      route.Route
		kind    string
		counted bool
	}{
		{route.Route{Method: http.MethodGet, Pattern: "/readyz", Access: route.Public}, "", false},
		{route.Route{Method: http.MethodGet, Pattern: "/api/queries/events", Lasts: true}, "", false},
		{route.Route{Method: http.MethodGet, Pattern: "/admin/api/overview", Access: route.Operator}, "", false},
		{route.Route{Method: http.MethodPost, Pattern: "/api/live-data/ingest"}, kindPoints, true},
		{route.Route{Method: http.MethodPost, Pattern: "/api/v1/write", Dialect: &route.Dialect{}}, kindPoints, true},
		{route.Route{Method: http.MethodPost, Pattern: "/api/commands/batch"}, kindGraph, true},
		{route.Route{Method: http.MethodGet, Pattern: "/api/commands/{id}"}, kindOther, true},
		{route.Route{Method: http.MethodPost, Pattern: "/api/rag/search"}, kindOther, true},
	} {
		kind, counted := kindOf(&c.rt)
		require.Equal(t, c.counted, counted, c.rt.Pattern)
		require.Equal(t, c.kind, kind, c.rt.Pattern)
	}
}
