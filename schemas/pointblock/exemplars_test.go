package pointblock_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// exemplarSeries returns a series with exemplars.
func exemplarSeries(texts ...string) *series {
	s := &series{texts: texts, id: pointblock.Identity{
		Workspace: workspaceA, Source: sourceA, Metric: "m", Kind: pointblock.KindSpecial,
	}}
	s.ref = pointblock.SeriesRef{ID: 7, Fingerprint: s.id.Fingerprint(&[16]byte{1})}
	for i := range texts {
		s.ts = append(s.ts, int64(i)+1)
	}
	return s
}

// TestReadersOfPointsDoNotSeeExemplars decodes a record with points and exemplars of one series.
func TestReadersOfPointsDoNotSeeExemplars(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 5)
	x := exemplarSeries("{} 1", "{} 2")
	points := exemplarSeries(pointblock.SpecialNaN)
	appendSeries(t, &e, points)
	require.NoError(t, e.AppendExemplars(x.ref, &x.id, slices.Clone(x.ts), slices.Clone(x.texts)))
	appendSeries(t, &e, &series{
		ref: pointblock.SeriesRef{ID: 8}, ts: []int64{1}, values: []float64{2},
		id: pointblock.Identity{Workspace: workspaceA, Source: sourceA, Metric: "n", Kind: pointblock.KindNumber},
	})
	var r pointblock.Record
	require.NoError(t, pointblock.Decode(bytes.Clone(e.Bytes()), &r))
	require.Len(t, r.Spans, 2)
	require.Equal(t, *points, asSeries(&r, &r.Spans[0]))
	require.Len(t, r.Exemplars, 1)
	require.Equal(t, *x, asSeries(&r, &r.Exemplars[0]))

	var selected pointblock.Record
	require.NoError(t, pointblock.Select(e.Bytes(), &selected, func(*pointblock.Span) bool { return true }))
	require.Len(t, selected.Spans, 2)
	require.Empty(t, selected.Exemplars)
	r.Release()
	require.Empty(t, r.Exemplars)
}

func TestManyExemplarsAreSplitIntoRecords(t *testing.T) {
	x := exemplarSeries(slices.Repeat([]string{strings.Repeat("x", 100_000)}, 25)...)
	var e pointblock.Encoder
	e.Reset(workspaceA, 5)
	require.NoError(t, e.AppendExemplars(x.ref, &x.id, slices.Clone(x.ts), slices.Clone(x.texts)))
	messages := e.AppendMessages(nil, 0)
	require.Greater(t, len(messages), 2)
	var got []string
	for _, m := range messages {
		require.LessOrEqual(t, len(m.Value), pointblock.MaxRecordBytes)
		require.Equal(t, sourceA[:], m.Key)
		var r pointblock.Record
		require.NoError(t, pointblock.Decode(m.Value, &r))
		require.Len(t, r.Exemplars, 1)
		got = append(got, r.Exemplars[0].AppendStrings(nil)...)
	}
	require.Equal(t, x.texts, got)
}

func TestExemplarsOfOtherFormsAreInvalid(t *testing.T) {
	valid := toProto(exemplarSeries("{} 1"))
	number := sampleSeries()
	for name, list := range map[string][]*eventsv1.Series{
		"of numbers": {number}, "twice": {valid, valid}, "without a time": {{
			SeriesId: 1, Fingerprint: valid.Fingerprint, SourceId: valid.SourceId, Metric: "m", Kind: eventsv1.Kind_KIND_SPECIAL,
		}},
	} {
		value, err := proto.Marshal(&eventsv1.PointsRecord{WorkspaceId: workspaceA[:], Exemplars: list})
		require.NoError(t, err)
		var r pointblock.Record
		require.ErrorContains(t, pointblock.Decode(value, &r), "exemplars[", name)
	}
	value, err := proto.Marshal(&eventsv1.PointsRecord{
		WorkspaceId: workspaceA[:], Series: []*eventsv1.Series{valid}, Exemplars: []*eventsv1.Series{valid},
	})
	require.NoError(t, err)
	var r pointblock.Record
	require.NoError(t, pointblock.Decode(value, &r), "a series can have both")
}
