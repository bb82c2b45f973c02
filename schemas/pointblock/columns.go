package pointblock

import (
	"encoding/binary"
	"math"
	"slices"
)

// Touch reads the first bytes of the span's times and values, so that they are in the processor's cache when
// the span is decoded. The result has no meaning; the caller must use it, or the compiler omits the reads.
func (s *Span) Touch() (sum int) {
	for _, b := range [...][]byte{s.content.bytes(s.deltas), s.content.bytes(s.values)} {
		if len(b) > 0 {
			sum += int(b[0])
		}
	}
	return sum
}

// AppendTimestamps appends the span's times to dst, in microseconds since the Unix epoch.
func (s *Span) AppendTimestamps(dst []int64) []int64 {
	n := len(dst)
	dst = slices.Grow(dst, s.Count)[:n+s.Count]
	out := dst[n:]
	b, ts := s.content.bytes(s.deltas), int64(0)
	for i := range out {
		d, size := readVarint(b)
		ts += int64(d) * int64(s.unit)
		out[i] = ts
		b = b[size:]
	}
	return dst
}

// AppendValues appends the numbers of a span of KindNumber to dst. Spans of other kinds have none.
func (s *Span) AppendValues(dst []float64) []float64 {
	if s.decimal {
		return s.appendFromDecimals(dst)
	}
	b := s.content.bytes(s.values)
	n, count := len(dst), len(b)/8
	dst = slices.Grow(dst, count)[:n+count]
	out := dst[n:]
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return dst
}

// AppendStrings appends the texts of a span to dst. Spans of KindNumber have none.
func (s *Span) AppendStrings(dst []string) []string {
	for b := s.content.bytes(s.strings); len(b) > 0; {
		_, value, _, rest, err := nextField(b)
		if err != nil {
			break // impossible after Decode
		}
		dst, b = append(dst, string(value)), rest
	}
	return dst
}

// Tags decodes and returns the span's tags, sorted by key, or nil if it has none.
func (s *Span) Tags() []Tag {
	var tags []Tag
	for raw := s.content.bytes(s.tags); len(raw) > 0; {
		key, value, rest, err := nextTag(raw)
		if err != nil {
			break // impossible after Decode
		}
		tags, raw = append(tags, Tag{Key: string(key), Value: string(value)}), rest
	}
	return tags
}

// Metric returns the name of the span's metric. The bytes must not be modified.
func (s *Span) Metric() []byte { return s.content.bytes(s.metric) }

// Identity returns the span's series identity. r is the record that contains the span.
func (s *Span) Identity(r *Record) Identity {
	return Identity{Workspace: r.Workspace, Source: s.Source, Metric: string(s.Metric()), Tags: s.Tags(), Kind: s.Kind}
}
