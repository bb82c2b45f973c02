package ingest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func requireOverloaded(t *testing.T, err error) {
	t.Helper()
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, fault.Unavailable, refusal.Kind)
	require.Positive(t, refusal.RetryAfter)
}

// manySeries returns a body of n lines, each of another series.
func manySeries(n int) string {
	var body strings.Builder
	for i := range n {
		fmt.Fprintf(&body, "m,source=pump,t=%d v=1\n", i)
	}
	return body.String()
}

func TestRequestsWaitForOthersButNotForever(t *testing.T) {
	p := newFakeStores()
	entered, leave := make(chan struct{}), make(chan struct{})
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) {
		entered <- struct{}{}
		<-leave
		return []pointblock.Position{{}}, nil
	}
	pipeline := p.pipeline(Limits{ProduceTimeout: 50 * time.Millisecond, InFlightBytes: 18 << 20})
	const series = 15_000 // less than 1 MiB of body, 6 MiB when parsed
	body := manySeries(series)
	require.Less(t, len(body), 1<<20)
	var working sync.WaitGroup
	accept := func(why, body string) {
		ended := make(chan error, 1)
		working.Go(func() {
			_, err := pipeline.Accept(context.Background(), Lines, request(body))
			ended <- err
		})
		select {
		case <-entered:
		case err := <-ended:
			t.Errorf("%s: %v", why, err)
		}
	}
	accept("the first", body)
	_, err := pipeline.Accept(t.Context(), Lines, request(body))
	requireOverloaded(t, err)
	accept("a small request does not wait", manySeries(1))
	accept("one that fits into the budget", manySeries(3000))
	close(leave)
	working.Wait()
	p.produce = nil
	_, err = pipeline.Accept(t.Context(), Lines, request(body))
	require.NoError(t, err)
	for _, q := range []*queue{pipeline.parsing, pipeline.parsed} {
		require.Zero(t, q.budget.Used(), "all shares are released")
	}
	require.Zero(t, pipeline.inFlight.Used())
}

// At most GOMAXPROCS+1 large requests are parsed at the same time. A request that waits for a share
// of the parsed budget counts; a request that waits for Kafka does not.
func TestFewRequestsAreParsedAtATime(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	maxParsed := int(pipeline.parsing.budget.Limit() / pipeline.parsing.min)
	require.Equal(t, runtime.GOMAXPROCS(0)+1, maxParsed)
	entered, leave := make(chan struct{}), make(chan struct{})
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) {
		entered <- struct{}{}
		<-leave
		return []pointblock.Position{{}}, nil
	}
	var working sync.WaitGroup
	for range 2 * maxParsed {
		working.Go(func() {
			_, err := pipeline.Accept(context.Background(), JSON, request(row(`"value":1`)+strings.Repeat(" ", queuedBytes)))
			require.NoError(t, err)
		})
	}
	for range 2 * maxParsed {
		<-entered
	}
	require.Zero(t, pipeline.parsing.budget.Used(), "nothing is being parsed")
	close(leave)
	working.Wait()
}

// A queue limits its shares by bytes, not only by their number.
func TestTheLargestRequestsAreWorkedOnAlone(t *testing.T) {
	const size, third = 16 << 20, 16<<20/3 + 1
	q := newQueue(size, 3, 20*time.Millisecond)
	for _, needs := range [][]int64{{4 * size, 1}, {size, 1}, {third, third, third}, {1, 1, 1, 1}} {
		var shares []*budget.Share
		for i, need := range needs {
			share, err := q.wait(t.Context(), queuedBytes, need)
			if i < len(needs)-1 {
				require.NoError(t, err)
				shares = append(shares, share)
				continue
			}
			requireOverloaded(t, err)
		}
		small, err := q.wait(t.Context(), queuedBytes-1, needs[0])
		require.NoError(t, err, "a small one does not wait")
		small.Release()
		gone, leaves := context.WithCancel(t.Context())
		leaves()
		_, err = q.wait(gone, queuedBytes, size)
		require.ErrorIs(t, err, context.Canceled)
		for _, share := range shares {
			share.Release()
			share.Release() // a second call has no effect
		}
		require.Zero(t, q.budget.Used())
	}
}

// A pipeline with a small budget accepts large requests, too, one after the other.
func TestAQueueOfLittleRoomTakesRequests(t *testing.T) {
	q := newQueue(0, 3, time.Second)
	for range 3 {
		share, err := q.wait(t.Context(), 32<<20, 1<<40)
		require.NoError(t, err)
		share.Release()
	}
}
