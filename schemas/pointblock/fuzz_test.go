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
		var e pointblock.Encoder
		e.Reset(r.Workspace, r.ReceivedAtUS)
		for i := range r.Spans {
			s := asSeries(&r, &r.Spans[i])
			generated.Series[i].ProtoReflect().SetUnknown(nil)
			for _, tag := range generated.Series[i].Tags {
				tag.ProtoReflect().SetUnknown(nil)
			}
			require.True(t, proto.Equal(unpacked(generated.Series[i]), toProto(&s)))
			appendSeries(t, &e, &s)
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
	})
}

func asSeries(r *pointblock.Record, s *pointblock.Span) series {
	return series{
		ref: pointblock.SeriesRef{ID: s.SeriesID, Fingerprint: s.Fingerprint}, id: s.Identity(r),
		ts: s.AppendTimestamps(nil), values: s.AppendValues(nil), texts: s.AppendStrings(nil),
	}
}
