package ingest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestLargeRequestsWaitForOthersButNotForever(t *testing.T) {
	p := newPlant()
	entered, leave := make(chan struct{}), make(chan struct{})
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) {
		entered <- struct{}{}
		<-leave
		return []pointblock.Position{{}}, nil
	}
	pipeline := p.pipeline(Limits{ProduceTimeout: 20 * time.Millisecond})
	large := row(`"value":1`) + strings.Repeat(" ", largeBytes)
	var working sync.WaitGroup
	for range cap(pipeline.large) {
		working.Go(func() {
			_, err := pipeline.Accept(context.Background(), JSON, request(large))
			require.NoError(t, err)
		})
	}
	for range cap(pipeline.large) {
		<-entered
	}
	_, err := pipeline.Accept(t.Context(), JSON, request(large))
	var refusal *fault.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, fault.Unavailable, refusal.Kind)
	require.Positive(t, refusal.RetryAfter)

	working.Go(func() {
		_, err := pipeline.Accept(context.Background(), JSON, request(row(`"value":1`)))
		require.NoError(t, err, "a small request does not wait behind large ones")
	})
	<-entered
	close(leave)
	working.Wait()
	p.produce = nil
	_, err = pipeline.Accept(t.Context(), JSON, request(large))
	require.NoError(t, err)
	require.Empty(t, pipeline.large)
	require.Zero(t, pipeline.gate.used.Load())
}
