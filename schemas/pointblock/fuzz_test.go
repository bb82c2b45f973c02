package pointblock_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// FuzzDecode checks that Decode never panics, that the generated code decodes accepted values to the
// same content, and that encoding this content again preserves it.
func FuzzDecode(f *testing.F) {
	for _, s := range []*eventsv1.Series{sampleSeries(), sampleTexts(), sampleDecimals()} {
		value, err := proto.Marshal(&eventsv1.PointsRecord{
			WorkspaceId: workspaceA[:], ReceivedAtUs: 5, Series: []*eventsv1.Series{s},
		})
		require.NoError(f, err)
		f.Add(value)
	}
	texts := sampleTexts()
	texts.Kind = eventsv1.Kind_KIND_SPECIAL
	exemplars, err := proto.Marshal(&eventsv1.PointsRecord{
		WorkspaceId: workspaceA[:], Series: []*eventsv1.Series{sampleSeries()}, Exemplars: []*eventsv1.Series{texts},
	})
	require.NoError(f, err)
	f.Add(exemplars)
	f.Add(pointblock.EncodeDeletions(workspaceA, 1, []pointblock.Deletion{
		{Source: sourceA, WholeSource: true},
		{Source: sourceA, Metric: "m", HasMetric: true, FromUS: 1, ToUS: 2, HasFrom: true, HasTo: true},
	}))
	f.Fuzz(func(t *testing.T, value []byte) {
		var r pointblock.Record
		if pointblock.Decode(value, &r) != nil {
			return
		}
		var generated eventsv1.PointsRecord
		require.NoError(t, proto.Unmarshal(value, &generated))
		require.Equal(t, generated.WorkspaceId, r.Workspace[:])
		require.Equal(t, generated.ReceivedAtUs, r.ReceivedAtUS)
		require.Len(t, r.Spans, len(generated.Series))
		require.Len(t, r.Deletions, len(generated.Deletions))
		require.Len(t, r.Exemplars, len(generated.Exemplars))
		var e pointblock.Encoder
		e.Reset(r.Workspace, r.ReceivedAtUS)
		for i := range r.Spans {
			s := asSeries(&r, &r.Spans[i])
			requireEqualSeries(t, generated.Series[i], &s)
			appendSeries(t, &e, &s)
		}
		for i := range r.Exemplars {
			s := asSeries(&r, &r.Exemplars[i])
			requireEqualSeries(t, generated.Exemplars[i], &s)
			require.NoError(t, e.AppendExemplars(s.ref, &s.id, s.ts, s.texts))
		}
		if len(r.Deletions) > 0 || len(e.AppendMessages(nil, 0)) > 1 {
			return
		}
		var again pointblock.Record
		require.NoError(t, pointblock.Decode(bytes.Clone(e.Bytes()), &again))
		require.Len(t, again.Spans, len(r.Spans))
		for i := range r.Spans {
			require.Equal(t, asSeries(&r, &r.Spans[i]), asSeries(&again, &again.Spans[i]))
		}
		require.Len(t, again.Exemplars, len(r.Exemplars))
		for i := range r.Exemplars {
			require.Equal(t, asSeries(&r, &r.Exemplars[i]), asSeries(&again, &again.Exemplars[i]))
		}
	})
}

// requireEqualSeries compares a series that the generated code decoded with one that Decode did.
func requireEqualSeries(t *testing.T, generated *eventsv1.Series, s *series) {
	t.Helper()
	generated.ProtoReflect().SetUnknown(nil)
	for _, tag := range generated.Tags {
		tag.ProtoReflect().SetUnknown(nil)
	}
	require.True(t, proto.Equal(unpacked(generated), toProto(s)))
}

func asSeries(r *pointblock.Record, s *pointblock.Span) series {
	return series{
		ref: pointblock.SeriesRef{ID: s.SeriesID, Fingerprint: s.Fingerprint}, id: s.Identity(r),
		ts: s.AppendTimestamps(nil), values: s.AppendValues(nil), texts: s.AppendStrings(nil),
	}
}
