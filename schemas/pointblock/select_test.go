package pointblock_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func wireSeries(source uuid.UUID, metric string, id uint64, deltas ...uint64) *eventsv1.Series {
	s := &eventsv1.Series{
		SeriesId: id, Fingerprint: make([]byte, 16), SourceId: source[:], Metric: metric,
		Kind: eventsv1.Kind_KIND_NUMBER, TimestampDeltasUs: deltas,
	}
	for range deltas {
		s.Values = append(s.Values, float64(id))
	}
	return s
}

func TestAReaderSelectsSeriesByTheirIdentity(t *testing.T) {
	workspace, source := uuid.New(), uuid.New()
	broken := wireSeries(source, "broken", 3, 5, 0) // its times do not increase
	value, err := proto.Marshal(&eventsv1.PointsRecord{
		WorkspaceId: workspace[:], ReceivedAtUs: 7,
		Series:    []*eventsv1.Series{wireSeries(source, "a", 1, 10, 5), broken, wireSeries(source, "b", 2, 20)},
		Deletions: []*eventsv1.Deletion{{SourceId: source[:], WholeSource: true}},
	})
	require.NoError(t, err)

	found, err := pointblock.WorkspaceOf(value)
	require.NoError(t, err)
	require.Equal(t, workspace, found)

	var record pointblock.Record
	var shown []string
	matchMetrics := func(metrics ...string) func(*pointblock.Span) bool {
		shown = nil
		return func(s *pointblock.Span) bool {
			shown = append(shown, string(s.Metric()))
			require.Equal(t, source, s.Source)
			for _, metric := range metrics {
				if metric == string(s.Metric()) {
					return true
				}
			}
			return false
		}
	}
	require.NoError(t, pointblock.Select(value, &record, matchMetrics("a", "b")))
	require.Equal(t, []string{"a", "broken", "b"}, shown)
	require.Equal(t, workspace, record.Workspace)
	require.EqualValues(t, 7, record.ReceivedAtUS)
	require.Len(t, record.Deletions, 1)
	require.Len(t, record.Spans, 2)
	require.Equal(t, []int64{10, 15}, record.Spans[0].AppendTimestamps(nil))
	require.Equal(t, []float64{1, 1}, record.Spans[0].AppendValues(nil))
	require.Equal(t, "b", string(record.Spans[1].Metric()))

	require.NoError(t, pointblock.Select(value, &record, matchMetrics()))
	require.Empty(t, record.Spans, "series that do not match are not validated")
	require.Error(t, pointblock.Select(value, &record, matchMetrics("broken")), "matching series are validated")
	require.Error(t, pointblock.Decode(value, &record))
}

func TestARecordWithoutAWorkspaceHasNone(t *testing.T) {
	for _, value := range [][]byte{nil, {1}, {0x0a, 2, 1, 2}} {
		_, err := pointblock.WorkspaceOf(value)
		require.Error(t, err)
		require.Error(t, pointblock.Select(value, &pointblock.Record{}, func(*pointblock.Span) bool { return true }))
	}
}
