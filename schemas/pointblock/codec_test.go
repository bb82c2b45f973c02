package pointblock_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// series is a series with its points as the Encoder accepts them.
type series struct {
	ref    pointblock.SeriesRef
	id     pointblock.Identity
	ts     []int64
	values []float64
	texts  []string
}

var (
	stringValues = rapid.StringOfN(rapid.Rune(), 0, 20, -1)
	finite       = rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) })
	timestamps   = rapid.Int64Range(0, pointblock.MaxTimestampUS)
	decimals     = rapid.Custom(func(t *rapid.T) float64 {
		return float64(
			rapid.Int64Range(-1<<53, 1<<53).Draw(t, "integer")>>rapid.IntRange(0, 50).Draw(t, "bits"),
		) / math.Pow10(rapid.IntRange(0, 15).Draw(t, "scale"))
	})
)

func drawUUID(t *rapid.T, label string) uuid.UUID {
	return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
}

func drawIdentity(t *rapid.T, workspace, source uuid.UUID) pointblock.Identity {
	id := pointblock.Identity{
		Workspace: workspace,
		Source:    source,
		Metric:    rapid.StringOfN(rapid.Rune(), 1, 20, -1).Draw(t, "metric"),
		Kind: rapid.SampledFrom([]pointblock.Kind{
			pointblock.KindNumber, pointblock.KindString, pointblock.KindSpecial,
		}).Draw(t, "kind"),
	}
	for key, value := range rapid.MapOfN(stringValues, stringValues, 0, 5).Draw(t, "tags") {
		id.Tags = append(id.Tags, pointblock.Tag{Key: key, Value: value})
	}
	slices.SortFunc(id.Tags, func(a, b pointblock.Tag) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return id
}

func drawSeries(t *rapid.T, workspace uuid.UUID, n int) []series {
	sources := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uuid.UUID {
		return drawUUID(t, "source")
	}), 1, 3).Draw(t, "sources")
	ids := rapid.SliceOfNDistinct(rapid.Uint64(), n, n, rapid.ID).Draw(t, "ids")
	list := make([]series, n)
	for i := range list {
		s := series{id: drawIdentity(t, workspace, rapid.SampledFrom(sources).Draw(t, "source"))}
		s.ref = pointblock.SeriesRef{ID: ids[i], Fingerprint: s.id.Fingerprint(&[16]byte{1})}
		s.ts = rapid.SliceOfNDistinct(timestamps, 1, 30, rapid.ID).Draw(t, "ts")
		if unit := rapid.SampledFrom([]int64{1, 1000, 1_000_000, 60_000_000}).Draw(t, "unit"); unit > 1 {
			for i := range s.ts {
				s.ts[i] -= s.ts[i] % unit
			}
		}
		slices.Sort(s.ts)
		s.ts = slices.Compact(s.ts)
		if s.id.Kind == pointblock.KindNumber {
			numbers := rapid.SampledFrom([]*rapid.Generator[float64]{
				finite, decimals, rapid.OneOf(finite, decimals),
			}).Draw(t, "numbers")
			s.values = rapid.SliceOfN(numbers, len(s.ts), len(s.ts)).Draw(t, "values")
		} else {
			s.texts = rapid.SliceOfN(stringValues, len(s.ts), len(s.ts)).Draw(t, "texts")
		}
		list[i] = s
	}
	return list
}

func appendSeries(t require.TestingT, e *pointblock.Encoder, s *series) {
	if s.id.Kind == pointblock.KindNumber {
		require.NoError(t, e.AppendNumbers(s.ref, &s.id, slices.Clone(s.ts), slices.Clone(s.values)))
		return
	}
	require.NoError(t, e.AppendStrings(s.ref, &s.id, slices.Clone(s.ts), slices.Clone(s.texts)))
}

// toProto returns the series as a message of the generated code.
func toProto(s *series) *eventsv1.Series {
	m := &eventsv1.Series{
		SeriesId: s.ref.ID, Fingerprint: s.ref.Fingerprint[:], SourceId: s.id.Source[:], Metric: s.id.Metric,
		Kind: eventsv1.Kind(s.id.Kind), Values: s.values, Texts: s.texts,
	}
	for _, tag := range s.id.Tags {
		m.Tags = append(m.Tags, &eventsv1.Tag{Key: tag.Key, Value: tag.Value})
	}
	previous := int64(0)
	for _, ts := range s.ts {
		m.TimestampDeltasUs = append(m.TimestampDeltasUs, uint64(ts-previous))
		previous = ts
	}
	return m
}

// unpacked returns the series with its times in microseconds and its numbers as doubles, decoded as
// points.proto specifies.
func unpacked(m *eventsv1.Series) *eventsv1.Series {
	m = proto.Clone(m).(*eventsv1.Series)
	for _, d := range m.TimestampDeltas {
		m.TimestampDeltasUs = append(m.TimestampDeltasUs, d*uint64(m.TimestampUnitUs))
	}
	integer := int64(0)
	for _, d := range m.DecimalDeltas {
		integer += d
		m.Values = append(m.Values, float64(integer)/math.Pow10(int(m.DecimalScale)))
	}
	m.DecimalDeltas, m.DecimalScale, m.TimestampDeltas, m.TimestampUnitUs = nil, 0, nil, 0
	return m
}

// repacked returns the series as another producer may encode it: with any unit of time, and the numbers
// as decimals of any scale, if possible.
func repacked(t *rapid.T, m *eventsv1.Series) *eventsv1.Series {
	unit := rapid.SampledFrom([]uint64{0, 1, 10, 1000, 1_000_000}).Draw(t, "their unit")
	m.TimestampUnitUs = uint32(unit) // ignored without times in units
	if unit > 0 && !slices.ContainsFunc(m.TimestampDeltasUs, func(d uint64) bool { return d%unit != 0 }) {
		for _, d := range m.TimestampDeltasUs {
			m.TimestampDeltas = append(m.TimestampDeltas, d/unit)
		}
		m.TimestampDeltasUs = nil
	}
	scale, previous := rapid.Uint32Range(0, 15).Draw(t, "their scale"), int64(0)
	for _, v := range m.Values {
		integer := math.Round(v * math.Pow10(int(scale)))
		if math.Abs(integer) > 1<<53 || math.Float64bits(integer/math.Pow10(int(scale))) != math.Float64bits(v) ||
			math.Signbit(integer) && integer == 0 {
			m.DecimalDeltas = nil
			return m
		}
		m.DecimalDeltas = append(m.DecimalDeltas, int64(integer)-previous)
		previous = int64(integer)
	}
	m.Values, m.DecimalScale = nil, scale
	return m
}

func TestTheGeneratedCodeReadsWhatTheEncoderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workspace, received := drawUUID(t, "workspace"), rapid.Int64().Draw(t, "received")
		list := drawSeries(t, workspace, rapid.IntRange(0, 4).Draw(t, "n"))
		want := &eventsv1.PointsRecord{WorkspaceId: workspace[:], ReceivedAtUs: received}
		var e pointblock.Encoder
		e.Reset(workspace, received)
		for i := range list {
			appendSeries(t, &e, &list[i])
			want.Series = append(want.Series, toProto(&list[i]))
		}
		var got eventsv1.PointsRecord
		require.NoError(t, proto.Unmarshal(e.Bytes(), &got))
		for i := range got.Series {
			got.Series[i] = unpacked(got.Series[i])
		}
		require.True(t, proto.Equal(want, &got), "want %v\ngot %v", want, &got)
	})
}

func TestDecodeReadsWhatTheGeneratedCodeWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workspace, received := drawUUID(t, "workspace"), rapid.Int64().Draw(t, "received")
		list := drawSeries(t, workspace, rapid.IntRange(0, 4).Draw(t, "n"))
		message := &eventsv1.PointsRecord{WorkspaceId: workspace[:], ReceivedAtUs: received}
		for i := range list {
			message.Series = append(message.Series, repacked(t, toProto(&list[i])))
		}
		value, err := proto.Marshal(message)
		require.NoError(t, err)
		requireDecodes(t, value, workspace, received, list)
	})
}

func TestDecodeReadsUnpackedShuffledAndUnknownFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workspace, received := drawUUID(t, "workspace"), rapid.Int64().Draw(t, "received")
		list := drawSeries(t, workspace, rapid.IntRange(1, 3).Draw(t, "n"))
		var fields [][]byte
		fields = append(fields, bytesField(1, workspace[:]), varintField(2, uint64(received)))
		fields = shuffle(t, append(fields, drawUnknown(t)...))
		var value []byte
		for _, f := range fields {
			value = append(value, f...)
		}
		for i := range list {
			value = append(value, bytesField(3, shuffledSeries(t, &list[i]))...)
		}
		var check eventsv1.PointsRecord
		require.NoError(t, proto.Unmarshal(value, &check))
		requireDecodes(t, value, workspace, received, list)
	})
}

func TestTheDeletionOfAWorkspaceIsTheSameForTheGeneratedCode(t *testing.T) {
	workspace := uuid.New()
	value := pointblock.EncodeDeletions(workspace, 5, []pointblock.Deletion{{WholeWorkspace: true}})
	want := &eventsv1.PointsRecord{
		WorkspaceId: workspace[:], ReceivedAtUs: 5, Deletions: []*eventsv1.Deletion{{WholeWorkspace: true}},
	}
	generated, err := proto.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, generated, value)
	var record pointblock.Record
	require.NoError(t, pointblock.Decode(value, &record))
	require.Equal(t, []pointblock.Deletion{{WholeWorkspace: true}}, record.Deletions)

	want.Deletions[0].SourceId = workspace[:]
	bounded, err := proto.Marshal(want)
	require.NoError(t, err)
	require.ErrorContains(t, pointblock.Decode(bounded, &record), "whole workspace")
}

func TestDeletionsAreTheSameForTheGeneratedCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workspace, received := drawUUID(t, "workspace"), rapid.Int64().Draw(t, "received")
		want := &eventsv1.PointsRecord{WorkspaceId: workspace[:], ReceivedAtUs: received}
		var list []pointblock.Deletion
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			d := pointblock.Deletion{Source: drawUUID(t, "source")}
			m := &eventsv1.Deletion{SourceId: d.Source[:]}
			if d.WholeSource = rapid.Bool().Draw(t, "whole"); d.WholeSource {
				m.WholeSource = true
			} else {
				if d.HasMetric = rapid.Bool().Draw(t, "hasMetric"); d.HasMetric {
					d.Metric = stringValues.Draw(t, "metric")
					m.Metric = &d.Metric
				}
				if d.HasFrom = rapid.Bool().Draw(t, "hasFrom"); d.HasFrom {
					d.FromUS = rapid.Int64Range(math.MinInt64, 1000).Draw(t, "from")
					m.FromUs = &d.FromUS
				}
				if d.HasTo = rapid.Bool().Draw(t, "hasTo"); d.HasTo {
					d.ToUS = rapid.Int64Min(1000).Draw(t, "to")
					m.ToUs = &d.ToUS
				}
			}
			list, want.Deletions = append(list, d), append(want.Deletions, m)
		}
		value := pointblock.EncodeDeletions(workspace, received, list)
		var got eventsv1.PointsRecord
		require.NoError(t, proto.Unmarshal(value, &got))
		require.True(t, proto.Equal(want, &got))

		generated, err := proto.Marshal(want)
		require.NoError(t, err)
		var record pointblock.Record
		require.NoError(t, pointblock.Decode(generated, &record))
		require.Equal(t, list, append([]pointblock.Deletion(nil), record.Deletions...))
	})
}

func requireDecodes(t require.TestingT, value []byte, workspace uuid.UUID, received int64, list []series) {
	var record pointblock.Record
	require.NoError(t, pointblock.Decode(value, &record))
	require.Equal(t, workspace, record.Workspace)
	require.Equal(t, received, record.ReceivedAtUS)
	require.Len(t, record.Spans, len(list))
	for i := range list {
		want, span := &list[i], &record.Spans[i]
		require.Equal(t, want.ref, pointblock.SeriesRef{ID: span.SeriesID, Fingerprint: span.Fingerprint})
		require.Equal(t, want.id, span.Identity(&record))
		require.Equal(t, len(want.ts), span.Count)
		require.Equal(t, want.ts[0], span.FirstUS)
		require.Equal(t, want.ts[len(want.ts)-1], span.LastUS)
		require.Equal(t, want.ts, span.AppendTimestamps(nil))
		require.Equal(t, bitsOf(want.values), bitsOf(span.AppendValues(nil)))
		require.Equal(t, want.texts, span.AppendStrings(nil))
	}
}

// bitsOf returns the bits of values, which distinguish the negative from the positive zero.
func bitsOf(values []float64) (bits []uint64) {
	for _, v := range values {
		bits = append(bits, math.Float64bits(v))
	}
	return bits
}

func bytesField(num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
}

func varintField(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func shuffle(t *rapid.T, fields [][]byte) [][]byte { return rapid.Permutation(fields).Draw(t, "order") }

// drawUnknown draws fields that the schema does not have, or has with another wire type, which protobuf
// handles in the same way.
func drawUnknown(t *rapid.T) [][]byte {
	return rapid.SliceOfN(rapid.SampledFrom([][]byte{
		bytesField(100, []byte("later")),
		varintField(14, 7),
		varintField(3, 1),
		protowire.AppendFixed32(protowire.AppendTag(nil, 9, protowire.Fixed32Type), 1),
		protowire.AppendFixed64(protowire.AppendTag(nil, 77, protowire.Fixed64Type), 1),
		protowire.AppendTag(protowire.AppendTag(nil, 20, protowire.StartGroupType), 20, protowire.EndGroupType),
	}), 0, 3).Draw(t, "unknown")
}

// drawChunks encodes a repeated field as packed chunks with unpacked elements between them. Readers must
// accept this as equivalent.
func drawChunks[V any](
	t *rapid.T, field protowire.Number, element protowire.Type, values []V, write func([]byte, V) []byte,
) (chunks [][]byte) {
	for remaining := values; len(remaining) > 0; {
		n := rapid.IntRange(0, len(remaining)).Draw(t, "piece")
		var packed []byte
		for _, v := range remaining[:n] {
			packed = write(packed, v)
		}
		if chunks = append(chunks, bytesField(field, packed)); n < len(remaining) {
			chunks = append(chunks, write(protowire.AppendTag(nil, field, element), remaining[n]))
			n++
		}
		remaining = remaining[n:]
	}
	return chunks
}

// shuffledSeries encodes a series in an unusual but valid way: columns are split into packed and unpacked
// chunks, with other fields between them in any order.
func shuffledSeries(t *rapid.T, s *series) []byte {
	m := repacked(t, toProto(s))
	scalars := [][]byte{
		protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), m.SeriesId),
		bytesField(2, m.Fingerprint), bytesField(3, m.SourceId), varintField(6, uint64(m.Kind)),
		bytesField(4, []byte(m.Metric)),
		varintField(11, uint64(m.DecimalScale)), varintField(13, uint64(m.TimestampUnitUs)),
	}
	queues := [][][]byte{nil, nil, nil, nil, shuffle(t, append(scalars, drawUnknown(t)...))}
	for _, tag := range m.Tags {
		inner := append(bytesField(2, []byte(tag.Value)), bytesField(1, []byte(tag.Key))...)
		queues[0] = append(queues[0], bytesField(5, inner))
	}
	times := protowire.Number(7)
	if len(m.TimestampDeltas) > 0 {
		times = 12
	}
	double := func(b []byte, v float64) []byte { return protowire.AppendFixed64(b, math.Float64bits(v)) }
	zigzagged := func(b []byte, d int64) []byte { return protowire.AppendVarint(b, protowire.EncodeZigZag(d)) }
	queues[1] = drawChunks(
		t, times, protowire.VarintType, slices.Concat(m.TimestampDeltasUs, m.TimestampDeltas), protowire.AppendVarint,
	)
	queues[2] = slices.Concat(drawChunks(t, 8, protowire.Fixed64Type, m.Values, double), drawChunks(
		t, 10, protowire.VarintType, m.DecimalDeltas, zigzagged,
	))
	for _, text := range m.Texts {
		queues[3] = append(queues[3], bytesField(9, []byte(text)))
	}
	var b []byte
	for len(queues) > 0 {
		i := rapid.IntRange(0, len(queues)-1).Draw(t, "queue")
		if len(queues[i]) == 0 {
			queues = slices.Delete(queues, i, i+1)
			continue
		}
		b = append(b, queues[i][0]...)
		queues[i] = queues[i][1:]
	}
	return b
}
