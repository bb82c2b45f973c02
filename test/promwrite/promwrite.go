// Package promwrite encodes requests of Prometheus remote write 1.0 for tests and
// benchmarks. It validates nothing, so that tests can encode invalid requests.
package promwrite

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is an encoded protobuf message. Its methods return a new message with a field
// appended, and do not modify the original.
type Message []byte

// Bytes appends a field of bytes, such as a message or a string.
func (m Message) Bytes(field protowire.Number, b []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(m), field, protowire.BytesType), b)
}

// Text appends a string field.
func (m Message) Text(field protowire.Number, s string) Message { return m.Bytes(field, []byte(s)) }

// Varint appends an integer field.
func (m Message) Varint(field protowire.Number, v uint64) Message {
	return protowire.AppendVarint(protowire.AppendTag(slices.Clip(m), field, protowire.VarintType), v)
}

// Double appends a floating-point field.
func (m Message) Double(field protowire.Number, v float64) Message {
	return protowire.AppendFixed64(protowire.AppendTag(slices.Clip(m), field, protowire.Fixed64Type), math.Float64bits(v))
}

// Sample appends a sample to a TimeSeries, at ms milliseconds since 1970.
func (m Message) Sample(ms int64, value float64) Message {
	return m.Bytes(2, Message{}.Double(1, value).Varint(2, uint64(ms)))
}

// Labels returns a TimeSeries with labels; names and values alternate.
func Labels(namesAndValues ...string) (series Message) {
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		series = series.Bytes(1, Message{}.Text(1, namesAndValues[i]).Text(2, namesAndValues[i+1]))
	}
	return series
}

// Request returns a WriteRequest with these TimeSeries.
func Request(series ...Message) (request Message) {
	for _, s := range series {
		request = protowire.AppendBytes(protowire.AppendTag(request, 1, protowire.BytesType), s)
	}
	return request
}

// Stale returns the NaN with which Prometheus marks the end of a series.
func Stale() float64 { return math.Float64frombits(0x7ff0000000000002) }
