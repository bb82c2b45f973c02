package consumers

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// byPartition makes a loop that stores each partition by itself.
func (g *gates) byPartition() *Loop {
	return New(
		Config{Name: "test", BatchRows: 1, BatchBytes: 1000, ByPartition: true, Grace: time.Second}, g, nil,
		slog.New(slog.DiscardHandler), nil,
	)
}

func inPartition(partition int32, word string) *kgo.Record {
	return &kgo.Record{Partition: partition, Value: []byte(word)}
}

func TestAPartitionThatWaitsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b", "c")
		g.gates["b"] <- nil
		g.gates["c"] <- nil
		source := &once{records: []*kgo.Record{inPartition(0, "a"), inPartition(1, "b"), inPartition(2, "c")}}
		ended := make(chan error, 1)
		go func() { ended <- g.byPartition().Reread(t.Context(), source) }()
		synctest.Wait()
		begun, _ := g.saw()
		require.ElementsMatch(t, []string{"a", "b", "c"}, begun)
		g.gates["a"] <- nil
		require.NoError(t, <-ended)
	})
}

func TestAFailureInOnePartitionEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b")
		g.gates["b"] <- Rejoin(errors.New("stale"))
		source := &once{records: []*kgo.Record{inPartition(0, "a"), inPartition(1, "b")}, waits: true}
		require.ErrorContains(t, g.byPartition().Reread(t.Context(), source), "stale")
	})
}

func TestWhatIsInFlightOfAPartitionThatHasGoneIsThrownAwayAndTheSessionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b", "c")
		s, polling, over := g.byPartition().newSession(t.Context())
		defer over()
		s.lanes.add([]*kgo.Record{inPartition(0, "a"), inPartition(1, "b")}, true)
		synctest.Wait()
		s.revoked([]int32{0}, true)
		g.gates["b"] <- nil
		s.lanes.add([]*kgo.Record{inPartition(1, "c")}, true)
		g.gates["c"] <- nil
		synctest.Wait()
		require.NoError(t, polling.Err())
		require.NoError(t, s.lanes.close())
		begun, _ := g.saw()
		require.Len(t, begun, 3)
	})
}

func TestAPartitionWhoseBatchIsFullIsNotFetchedUntilItIsTaken(t *testing.T) {
	in := newIntake(Config{BatchRows: 1, BatchBytes: 1000}, &words{})
	var paused []bool
	pause := func(is bool) { paused = append(paused, is) }
	in.pauseIfFull(pause)
	require.Empty(t, paused)
	in.add([]*kgo.Record{inPartition(0, "a")}, true)
	in.pauseIfFull(pause)
	in.pauseIfFull(pause)
	require.Equal(t, []bool{true}, paused)
	require.NotNil(t, in.take(context.Background()))
	require.Equal(t, []bool{true, false}, paused)
}
