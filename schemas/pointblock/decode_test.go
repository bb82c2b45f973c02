package pointblock_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func sampleSeries() *eventsv1.Series {
	return &eventsv1.Series{
		SeriesId: 9, Fingerprint: bytes.Repeat([]byte{1}, 16), SourceId: sourceA[:], Metric: "m",
		Kind:              eventsv1.Kind_KIND_NUMBER,
		Tags:              []*eventsv1.Tag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
		TimestampDeltasUs: []uint64{1_700_000_000_000_000, 1_000_000, 300},
		Values:            []float64{1, -2.5, 1e300},
	}
}

func sampleTexts() *eventsv1.Series {
	s := sampleSeries()
	s.SeriesId, s.Kind, s.Values, s.Texts = 10, eventsv1.Kind_KIND_STRING, nil, []string{"", "on", "naïve"}
	return s
}

func sampleDecimals() *eventsv1.Series {
	s := sampleSeries()
	s.SeriesId, s.Values, s.DecimalDeltas, s.DecimalScale = 11, nil, []int64{215, 1, -432}, 1
	s.TimestampDeltasUs, s.TimestampDeltas, s.TimestampUnitUs = nil, []uint64{1_700_000_000, 1, 60}, 1_000_000
	return s
}

func TestDecimalsAndUnitsAreDecoded(t *testing.T) {
	value, err := proto.Marshal(&eventsv1.PointsRecord{
		WorkspaceId: workspaceA[:], Series: []*eventsv1.Series{sampleDecimals()},
	})
	require.NoError(t, err)
	span := &decode(t, value).Spans[0]
	require.Equal(t, []float64{21.5, 21.6, -21.6}, span.AppendValues(nil))
	require.Equal(
		t, []int64{1_700_000_000_000_000, 1_700_000_001_000_000, 1_700_000_061_000_000}, span.AppendTimestamps(nil),
	)
	require.EqualValues(t, 1_700_000_061_000_000, span.LastUS)
}

func TestDecodeRefusesDecimals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *eventsv1.Series)
		reason string
	}{
		"beside values":     {func(s *eventsv1.Series) { s.Values = []float64{1, 2, 3} }, "values and decimals"},
		"too many decimals": {func(s *eventsv1.Series) { s.DecimalScale = 16 }, "decimal scale 16 is above 15"},
		"fewer": {func(s *eventsv1.Series) {
			s.DecimalDeltas = s.DecimalDeltas[:2]
		}, "3 timestamps have 2 decimals"},
		"more": {func(s *eventsv1.Series) {
			s.DecimalDeltas = append(s.DecimalDeltas, 1)
		}, "3 timestamps have 4 decimals"},
		"no double":        {func(s *eventsv1.Series) { s.DecimalDeltas[0] = 1<<53 + 1 }, "decimals[0] is too large"},
		"no double, below": {func(s *eventsv1.Series) { s.DecimalDeltas[1] = -1<<53 - 216 }, "decimals[1] is too large"},
		"overflow of the sum": {func(s *eventsv1.Series) {
			s.DecimalDeltas = []int64{1 << 53, math.MaxInt64, 1}
		}, "decimals[1] is too large"},
		"of texts": {func(s *eventsv1.Series) { s.Kind = 2 }, "has numbers"},
		"no unit":  {func(s *eventsv1.Series) { s.TimestampUnitUs = 0 }, "unit of timestamps is missing"},
		"times beside times": {func(s *eventsv1.Series) {
			s.TimestampDeltasUs = []uint64{1, 2, 3}
		}, "in microseconds and in units"},
		"beyond 2299, in units": {func(s *eventsv1.Series) {
			s.TimestampDeltas[2] = 9_000_000_000
		}, "timestamps[2] is beyond"},
		"overflow by the unit": {func(s *eventsv1.Series) { s.TimestampDeltas[1] = 1 << 63 }, "timestamps[1] is beyond"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sampleDecimals()
			c.change(s)
			value, err := proto.Marshal(&eventsv1.PointsRecord{WorkspaceId: workspaceA[:], Series: []*eventsv1.Series{s}})
			require.NoError(t, err)
			require.ErrorContains(t, pointblock.Decode(value, new(pointblock.Record)), c.reason)
		})
	}
	s, err := proto.Marshal(sampleDecimals())
	require.NoError(t, err)
	cut := append(bytesField(1, workspaceA[:]), bytesField(3, append(s, bytesField(10, []byte{0x80})...))...)
	require.ErrorContains(t, pointblock.Decode(cut, new(pointblock.Record)), "decimals[3] is not a varint")
}

func TestDecodeRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(s *eventsv1.Series)
		reason string
	}{
		"no fingerprint": {func(s *eventsv1.Series) {
			s.Fingerprint = nil
		}, "series[0]: fingerprint has 0 bytes, not 16"},
		"short source":        {func(s *eventsv1.Series) { s.SourceId = s.SourceId[:15] }, "source id has 15 bytes"},
		"no metric":           {func(s *eventsv1.Series) { s.Metric = "" }, "metric is missing"},
		"no kind":             {func(s *eventsv1.Series) { s.Kind = 0 }, "kind 0 is unknown"},
		"kind of the future":  {func(s *eventsv1.Series) { s.Kind = 4 }, "kind 4 is unknown"},
		"kind with high bits": {func(s *eventsv1.Series) { s.Kind = -1 }, "is unknown"},
		"tags out of order":   {func(s *eventsv1.Series) { s.Tags[0].Key = "z" }, "tags[1]: keys are not sorted"},
		"tags twice":          {func(s *eventsv1.Series) { s.Tags[0].Key = "b" }, "tags[1]: keys are not sorted"},
		"no points":           {func(s *eventsv1.Series) { s.TimestampDeltasUs, s.Values = nil, nil }, "no points"},
		"a time twice":        {func(s *eventsv1.Series) { s.TimestampDeltasUs[1] = 0 }, "timestamps[1] is not above"},
		"a time going back": {func(s *eventsv1.Series) {
			s.TimestampDeltasUs[1] = math.MaxUint64
		}, "timestamps[1] is beyond"},
		"beyond 2299": {func(s *eventsv1.Series) {
			s.TimestampDeltasUs[0] = pointblock.MaxTimestampUS
		}, "timestamps[1] is beyond"},
		"overflow of the sum": {func(s *eventsv1.Series) {
			s.TimestampDeltasUs = []uint64{1 << 63, 1 << 63, 1}
		}, "timestamps[0] is beyond"},
		"fewer values":        {func(s *eventsv1.Series) { s.Values = s.Values[:2] }, "3 timestamps have 16 bytes"},
		"more values":         {func(s *eventsv1.Series) { s.Values = append(s.Values, 1) }, "3 timestamps have 32 bytes"},
		"NaN":                 {func(s *eventsv1.Series) { s.Values[1] = math.NaN() }, "values[1] is not finite"},
		"infinity":            {func(s *eventsv1.Series) { s.Values[2] = math.Inf(-1) }, "values[2] is not finite"},
		"numbers with texts":  {func(s *eventsv1.Series) { s.Texts = []string{"x"} }, "has texts"},
		"texts without texts": {func(s *eventsv1.Series) { s.Kind = 2 }, "has numbers"},
		"texts of other count": {func(s *eventsv1.Series) {
			s.Kind, s.Values, s.Texts = 2, nil, []string{"x"}
		}, "3 timestamps have 1 texts"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := sampleSeries()
			c.change(s)
			value, err := proto.Marshal(&eventsv1.PointsRecord{WorkspaceId: workspaceA[:], Series: []*eventsv1.Series{s}})
			require.NoError(t, err)
			require.ErrorContains(t, pointblock.Decode(value, new(pointblock.Record)), c.reason)
		})
	}
}

func TestDecodeRefusesInvalidRecords(t *testing.T) {
	s, err := proto.Marshal(sampleSeries())
	require.NoError(t, err)
	good := append(bytesField(1, workspaceA[:]), bytesField(3, s)...)
	require.NoError(t, pointblock.Decode(good, new(pointblock.Record)))
	cases := map[string][]byte{
		"nothing":               nil,
		"no workspace":          bytesField(3, s),
		"workspace too long":    bytesField(1, make([]byte, 17)),
		"text":                  []byte(`{"points":[]}`),
		"cut":                   good[:len(good)-1],
		"length beyond the end": append(bytesField(1, workspaceA[:]), 3<<3|2, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"endless varint": append(
			bytesField(1, workspaceA[:]), 2<<3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
		),
		"field number zero": append(bytesField(1, workspaceA[:]), 0, 0),
		"end of no group":   append(bytesField(1, workspaceA[:]), 3<<3|4),
		"a series twice":    append(good, bytesField(3, s)...),
		"metric not UTF-8":  append(good[:18:18], bytesField(3, append(s, bytesField(4, []byte{0xff})...))...),
		"tag not UTF-8": append(
			good[:18:18], bytesField(3, append(s, bytesField(5, bytesField(1, []byte("z\xff")))...))...,
		),
		"packed values cut":       append(good[:18:18], bytesField(3, append(s, bytesField(8, make([]byte, 7))...))...),
		"packed times cut":        append(good[:18:18], bytesField(3, append(s, bytesField(7, []byte{0x80})...))...),
		"deletion without source": append(good[:18:18], bytesField(4, nil)...),
		"deletion turned round": append(
			good[:18:18],
			bytesField(4, append(bytesField(1, sourceA[:]), append(varintField(3, 9), varintField(4, 8)...)...))...,
		),
		"whole source in bounds": append(
			good[:18:18],
			bytesField(4, append(bytesField(1, sourceA[:]), append(varintField(3, 9), varintField(5, 1)...)...))...,
		),
	}
	for name, value := range cases {
		t.Run(name, func(t *testing.T) {
			require.Error(t, pointblock.Decode(value, new(pointblock.Record)))
		})
	}
}

func TestAnInvalidTextIsRefused(t *testing.T) {
	s, err := proto.Marshal(sampleTexts())
	require.NoError(t, err)
	bad := bytes.Replace(s, []byte("on"), []byte("\xc3("), 1)
	value := append(bytesField(1, workspaceA[:]), bytesField(3, bad)...)
	require.ErrorContains(t, pointblock.Decode(value, new(pointblock.Record)), "texts[1] is not UTF-8")
}

func TestALyingLengthTakesNoMemory(t *testing.T) {
	value := append(bytesField(1, workspaceA[:]), 3<<3|2)
	value = protowire.AppendVarint(value, 1<<62)
	var r pointblock.Record
	allocated := testing.AllocsPerRun(10, func() { _ = pointblock.Decode(value, &r) })
	require.LessOrEqual(t, allocated, 4.0) // the error
}

func TestManySeriesOfOneRecordAreDistinguished(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ref, id := numberSeries(sourceA, "m")
	for i := range uint64(5000) {
		ref.ID = i << 40 // a poor hash would make these collide
		require.NoError(t, e.AppendNumbers(ref, id, []int64{1}, []float64{1}))
	}
	require.Len(t, decode(t, e.Bytes()).Spans, 5000)
	ref.ID = 77 << 40
	require.NoError(t, e.AppendNumbers(ref, id, []int64{1}, []float64{1}))
	require.ErrorContains(
		t, pointblock.Decode(e.Bytes(), new(pointblock.Record)), "series[5000]: the series is in the record twice",
	)
}

func TestDecodeAllocatesSpansOnce(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ref, id := numberSeries(sourceA, "temperature")
	const series = 10_000
	for i := range series {
		ref.ID = uint64(i) * 0x9e3779b97f4a7c15 // as long as real ones
		require.NoError(t, e.AppendNumbers(ref, id, []int64{1}, []float64{2}))
	}
	messages := e.AppendMessages(nil, 0)
	require.Len(t, messages, 1)
	var into pointblock.Record
	require.NoError(t, pointblock.Decode(messages[0].Value, &into))
	require.Len(t, into.Spans, series)
	require.Less(t, cap(into.Spans), series*11/10, "the capacity is close to the number of spans")
	allocs := testing.AllocsPerRun(5, func() {
		var fresh pointblock.Record
		require.NoError(t, pointblock.Decode(messages[0].Value, &fresh))
	})
	require.Less(t, allocs, 20.0)
}
