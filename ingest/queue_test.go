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

func TestTheBatchThatWasUsedLastIsUsedNext(t *testing.T) {
	var s spares
	first, second := newBatch(nil), newBatch(nil)
	s.give(first, 10)
	s.give(second, 20)
	require.Same(t, second, s.take())
	require.Same(t, first, s.take())
	require.Nil(t, s.take())
	require.Zero(t, s.bytes)
}

func TestSparesAreBounded(t *testing.T) {
	var s spares
	s.give(newBatch(nil), sparesBytes-1)
	s.give(newBatch(nil), 2)
	require.Len(t, s.list, 1)
	require.Equal(t, sparesBytes-1, s.bytes)
}

func TestSparesThatNobodyWantsAreForgotten(t *testing.T) {
	var s spares
	old, young := newBatch(nil), newBatch(nil)
	s.give(old, 10)
	s.give(young, 20)
	s.list[0].since = time.Now().Add(-2 * sparesTime)
	s.forget()
	require.Len(t, s.list, 1)
	require.Equal(t, 20, s.bytes)
	require.NotNil(t, s.sweep)
	require.Same(t, young, s.take())
	s.forget()
	require.Nil(t, s.sweep, "nothing is left to forget")
}

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
