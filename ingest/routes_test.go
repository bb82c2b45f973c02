package ingest_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// TestPointsKeepTheirOrderWhilePartitionsAreAdded writes one point repeatedly, alternately
// through two processes. One of them detects the added partitions later than the other. A
// write that was acknowledged later must have a higher version.
func TestPointsKeepTheirOrderWhilePartitionsAreAdded(t *testing.T) {
	s := newEnvironment(t, 10)
	var noticing atomic.Bool
	late := s.process(t, func() error {
		if !noticing.Load() {
			return errors.New("not yet")
		}
		return nil
	})
	source := uuid.New()
	for pointblock.Partition(source, 4) == pointblock.Partition(source, 8) {
		source = uuid.New() // a source whose partition changes
	}
	_, err := s.db.CreateSource(t.Context(), s.workspace, registry.Source{ID: source, Name: "pump"})
	require.NoError(t, err)

	written := 0
	write := func(p *ingest.Pipeline) {
		require.Eventually(t, func() bool { // retry like a client
			_, err := p.Accept(t.Context(), ingest.JSON, ingest.Request{
				Workspace: s.workspace, RequestID: "req_7", ReceivedAt: time.Now(),
				Body: fmt.Appendf(
					nil, `{"metric":"m","points":[{"sourceId":"%s","value":%d,"timestamp":"2026-11-25T00:00:00Z"}]}`, source, written,
				),
			})
			if !fault.Is(err, fault.Unavailable) {
				require.NoError(t, err)
			}
			return err == nil
		}, time.Minute, time.Millisecond)
		written++
	}
	for range 20 {
		write(s.pipeline)
		write(late)
	}
	_, err = s.broker.Admin(t).UpdatePartitions(t.Context(), 8, "points")
	require.NoError(t, err)
	time.AfterFunc(3*time.Second, func() { noticing.Store(true) })
	for began := time.Now(); time.Since(began) < 4*time.Second; {
		write(s.pipeline)
		if time.Since(began) < 2*time.Second {
			write(late)
		}
	}
	for range 20 {
		write(late)
		write(s.pipeline)
	}
	s.requireOrder(t, written)
}

// requireOrder checks that the versions of the log's records, each of one point, increase with
// their values.
func (s *environment) requireOrder(t *testing.T, written int) {
	t.Helper()
	generations, err := s.db.Generations(t.Context(), points.Topic)
	require.NoError(t, err)
	versions, partitions := make([]uint64, written), map[int32]bool{}
	for _, record := range s.read(t, written) {
		var r pointblock.Record
		require.NoError(t, pointblock.Decode(record.Value, &r))
		generation, ok := generations.At(
			generations[len(generations)-1].TopicID, record.Partition, record.Offset, kafka.RouteOf(record),
		)
		require.True(t, ok)
		value := int(r.Spans[0].AppendValues(nil)[0])
		versions[value] = max(versions[value], pointblock.Version(generation, record.Offset))
		partitions[record.Partition] = true
	}
	require.Len(t, partitions, 2, "the series has changed its partition")
	for i := range versions[1:] {
		require.Less(t, versions[i], versions[i+1], "value %d was acknowledged before value %d was sent", i, i+1)
	}
}
