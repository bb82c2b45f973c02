package consumers

import (
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

func TestAPartitionOfWhichMuchWaitsIsNotFetchedUntilLittleDoes(t *testing.T) {
	in := newIntake(Config{BatchRows: 1, BatchBytes: 10, ByPartition: true}, &words{})
	var paused []bool
	pause := func(is bool) { paused = append(paused, is) }
	add := func(values ...string) {
		for _, value := range values {
			in.add([]*kgo.Record{inPartition(0, value)}, true)
			in.pauseIfFull(pause)
		}
	}
	add("aaaaaaa", "bbbbbbb")
	require.Empty(t, paused, "full batches alone do not stop it")
	add("ccccccc", "d")
	require.Equal(t, []bool{true}, paused)
	for _, want := range []struct {
		value  string
		paused []bool
	}{
		{"aaaaaaa", []bool{true}}, {"bbbbbbb", []bool{true, false}}, {"ccccccc", []bool{true, false}},
		{"d", []bool{true, false}},
	} {
		b := in.take(t.Context())
		require.Len(t, b.records, 1, "a batch is full with one record")
		require.Equal(t, want.value, string(b.records[0].Value), "in the order in which they came")
		require.Equal(t, want.paused, paused)
	}
}

func TestWhatWaitsIsTakenBeforeALaneEnds(t *testing.T) {
	in := newIntake(Config{BatchRows: 1, BatchBytes: 10, ByPartition: true}, &words{})
	in.add([]*kgo.Record{inPartition(0, "a"), inPartition(0, "b"), inPartition(0, "c")}, true)
	in.close()
	for _, want := range []string{"a", "b", "c"} {
		require.Equal(t, want, string(in.take(t.Context()).records[0].Value))
	}
	require.Nil(t, in.take(t.Context()))
}
