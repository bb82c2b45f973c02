package admin

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/password"
)

func TestWhatIsNotKnownIsNowhere(t *testing.T) {
	require.False(t, sameNetwork(nil, netip.Addr{}))
	require.False(t, sameNetwork(&netip.Addr{}, netip.Addr{}))
}

func TestAnUnknownNameCostsAsMuchAsAKnownOne(t *testing.T) {
	cost := func(hash string) string { return hash[:strings.LastIndex(hash[:strings.LastIndex(hash, "$")], "$")] }
	require.Equal(t, cost(password.Hash("x")), cost(newLogins(Attempts{}).dummyHash))
}

func TestFewPasswordsAreHashedAtATime(t *testing.T) {
	h := newHashing()
	working, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, maxQueuedHashes)
	for range maxQueuedHashes {
		go func() {
			ended <- h.withSlot(t.Context(), func() {
				working <- struct{}{}
				<-release
			})
		}()
	}
	for range maxConcurrentHashes {
		<-working
	}
	require.Eventually(t, func() bool { return h.waiting.Load() == maxQueuedHashes }, time.Minute, time.Millisecond)
	select {
	case <-working:
		t.Fatal("more hashes at a time than slots")
	default:
	}
	err := h.withSlot(t.Context(), func() { t.Error("it is refused") })
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	go func() {
		for range working {
			continue // lets the queued ones run
		}
	}()
	close(release)
	for range maxQueuedHashes {
		require.NoError(t, <-ended)
	}
	close(working)
	_, err = h.matches(t.Context(), "$", "x")
	require.NoError(t, err, "the slots are free again")
}

func TestAPageIsMadeOfAnyFiles(t *testing.T) {
	p, err := readWebUI(fstest.MapFS{
		"index.html": {Data: []byte("x")}, ".keep": {}, "assets/.x.js": {}, "a.bin": {Data: []byte("y")},
	})
	require.NoError(t, err)
	require.Len(t, p.files, 2)
	answer := httptest.NewRecorder()
	p.files["a.bin"].Serve(answer, httptest.NewRequest(http.MethodGet, "/admin/a.bin", nil))
	require.Equal(t, "application/octet-stream", answer.Header().Get("Content-Type"))
	none, err := readWebUI(nil)
	require.NoError(t, err)
	require.Empty(t, none.files)
}

func TestQuantilesOfWhatCameInBetween(t *testing.T) {
	newSample := func(counts ...float64) sample {
		bounds := []float64{0.1, 0.5, 1, math.Inf(1)}
		var s sample
		for i, n := range counts {
			s.ageBuckets = append(s.ageBuckets, bucket{bound: bounds[i], count: n})
		}
		return s
	}
	before, now := newSample(100, 100, 100, 100), newSample(150, 200, 200, 200)
	require.Equal(t, &freshness{P50Seconds: 0.1, P95Seconds: 0.46}, now.freshnessSince(&before))
	beyond := newSample(100, 100, 100, 110)
	require.Equal(t, &freshness{P50Seconds: 1, P95Seconds: 1}, beyond.freshnessSince(&before), "no upper bound")
	require.Nil(t, before.freshnessSince(&before), "no new points")
	none := sample{}
	require.Nil(t, now.freshnessSince(&none))
	require.Equal(t, 2.5, perSecond(15, 10, 2))
	require.Zero(t, perSecond(5, 10, 2), "a counter that was reset")
	require.Zero(t, perSecond(5, 1, 0))
}
