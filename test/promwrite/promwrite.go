// Package promwrite writes requests of Prometheus' remote write 1.0 for tests and
// benchmarks, odd ones included: it knows the wire format and checks nothing.
package promwrite

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is a protobuf message that is being written. What is added to it leaves
// it as it was.
type Message []byte

// Bytes adds a field of bytes: a message, a text.
func (m Message) Bytes(field protowire.Number, b []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(m), field, protowire.BytesType), b)
}

// Text adds a field of text.
func (m Message) Text(field protowire.Number, s string) Message { return m.Bytes(field, []byte(s)) }

// Varint adds a field with an integer.
func (m Message) Varint(field protowire.Number, v uint64) Message {
	return protowire.AppendVarint(protowire.AppendTag(slices.Clip(m), field, protowire.VarintType), v)
}

// Double adds a field with a number.
func (m Message) Double(field protowire.Number, v float64) Message {
	return protowire.AppendFixed64(protowire.AppendTag(slices.Clip(m), field, protowire.Fixed64Type), math.Float64bits(v))
}

// Sample adds a sample to a TimeSeries, at ms milliseconds since 1970.
func (m Message) Sample(ms int64, value float64) Message {
	return m.Bytes(2, Message{}.Double(1, value).Varint(2, uint64(ms)))
}

// Labels begins a TimeSeries with labels, names and values by turns.
func Labels(of ...string) (series Message) {
	for i := 0; i+1 < len(of); i += 2 {
		series = series.Bytes(1, Message{}.Text(1, of[i]).Text(2, of[i+1]))
	}
	return series
}

// Request is a WriteRequest of these TimeSeries.
func Request(series ...Message) (request Message) {
	for _, s := range series {
		request = protowire.AppendBytes(protowire.AppendTag(request, 1, protowire.BytesType), s)
	}
	return request
}

// Stale is the NaN by which Prometheus says that a series has ended.
func Stale() float64 { return math.Float64frombits(0x7ff0000000000002) }
