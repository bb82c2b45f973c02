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

// newPartitionedLoop creates a loop that stores each partition separately.
func (g *gatedHandler) newPartitionedLoop() *Loop {
	return New(
		Config{Name: "test", BatchRows: 1, BatchBytes: 1000, ByPartition: true, Grace: time.Second}, g, nil,
		slog.New(slog.DiscardHandler), nil,
	)
}

func recordIn(partition int32, word string) *kgo.Record {
	return &kgo.Record{Partition: partition, Value: []byte(word)}
}

func TestAPartitionThatWaitsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b", "c")
		g.gates["b"] <- nil
		g.gates["c"] <- nil
		source := &sliceSource{records: []*kgo.Record{recordIn(0, "a"), recordIn(1, "b"), recordIn(2, "c")}}
		ended := make(chan error, 1)
		go func() { ended <- g.newPartitionedLoop().Reread(t.Context(), source) }()
		synctest.Wait()
		started, _ := g.state()
		require.ElementsMatch(t, []string{"a", "b", "c"}, started)
		g.gates["a"] <- nil
		require.NoError(t, <-ended)
	})
}

func TestAFailureInOnePartitionEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b")
		g.gates["b"] <- Rejoin(errors.New("stale"))
		source := &sliceSource{records: []*kgo.Record{recordIn(0, "a"), recordIn(1, "b")}, blocks: true}
		require.ErrorContains(t, g.newPartitionedLoop().Reread(t.Context(), source), "stale")
	})
}

func TestBatchesOfARevokedPartitionAreDiscardedAndTheSessionContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b", "c")
		s, polling, over := g.newPartitionedLoop().newSession(t.Context())
		defer over()
		s.pipelines.add([]*kgo.Record{recordIn(0, "a"), recordIn(1, "b")}, true)
		synctest.Wait()
		s.revoked([]int32{0}, true)
		g.gates["b"] <- nil
		s.pipelines.add([]*kgo.Record{recordIn(1, "c")}, true)
		g.gates["c"] <- nil
		synctest.Wait()
		require.NoError(t, polling.Err())
		require.NoError(t, s.pipelines.close())
		started, _ := g.state()
		require.Len(t, started, 3)
	})
}

func TestAPartitionOfWhichMuchWaitsIsNotFetchedUntilLittleDoes(t *testing.T) {
	in := newAccumulator(Config{BatchRows: 1, BatchBytes: 10, ByPartition: true}, &wordHandler{})
	var paused []bool
	pause := func(is bool) { paused = append(paused, is) }
	add := func(values ...string) {
		for _, value := range values {
			in.add([]*kgo.Record{recordIn(0, value)}, true)
			in.pauseIfFull(pause)
		}
	}
	add("aaaaaaa", "bbbbbbb")
	require.Empty(t, paused, "two full batches do not pause it")
	add("ccccccc", "d")
	require.Equal(t, []bool{true}, paused)
	for _, want := range []struct {
		value  string
		paused []bool
	}{
		{"aaaaaaa", []bool{true}}, {"bbbbbbb", []bool{true, false}}, {"ccccccc", []bool{true, false}},
		{"d", []bool{true, false}},
	} {
		b := in.next(t.Context())
		require.Len(t, b.records, 1, "a batch is full with one record")
		require.Equal(t, want.value, string(b.records[0].Value), "in the order of arrival")
		require.Equal(t, want.paused, paused)
	}
}

func TestWhatWaitsIsTakenBeforeALaneEnds(t *testing.T) {
	in := newAccumulator(Config{BatchRows: 1, BatchBytes: 10, ByPartition: true}, &wordHandler{})
	in.add([]*kgo.Record{recordIn(0, "a"), recordIn(0, "b"), recordIn(0, "c")}, true)
	in.close()
	for _, want := range []string{"a", "b", "c"} {
		require.Equal(t, want, string(in.next(t.Context()).records[0].Value))
	}
	require.Nil(t, in.next(t.Context()))
}
