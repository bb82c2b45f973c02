// Package promwrite encodes requests of Prometheus remote write 1.0 and 2.0 for tests and
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

// Exemplar appends an exemplar to a TimeSeries, at ms milliseconds since 1970. Names and values of its labels
// alternate.
func (m Message) Exemplar(ms int64, value float64, namesAndValues ...string) Message {
	return m.Bytes(3, append(Labels(namesAndValues...), Message{}.Double(2, value).Varint(3, uint64(ms))...))
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

// Request2 returns a request of remote write 2.0 with these TimeSeries of 1.0, which must be valid. The
// first symbol is empty, as 2.0 requires.
func Request2(series ...Message) (request Message) {
	refs := map[string]uint64{"": 0}
	symbols := []string{""}
	ref := func(text string) uint64 {
		if _, known := refs[text]; !known {
			refs[text] = uint64(len(symbols))
			symbols = append(symbols, text)
		}
		return refs[text]
	}
	var converted []Message
	for _, s := range series {
		var packed []byte
		var rest Message
		eachField(s, func(field protowire.Number, wire protowire.Type, value, all []byte) {
			switch {
			case wire != protowire.BytesType:
			case field == 1:
				name, text := label(value)
				packed = protowire.AppendVarint(protowire.AppendVarint(packed, ref(name)), ref(text))
			case field == 2:
				rest = append(rest, all...)
			case field == 3: // an exemplar
				rest = rest.Bytes(4, exemplar(value, ref))
			case field == 4: // a histogram
				rest = rest.Bytes(3, value)
			}
		})
		converted = append(converted, append(Message{}.Bytes(1, packed), rest...))
	}
	for _, symbol := range symbols {
		request = request.Text(4, symbol)
	}
	for _, s := range converted {
		request = request.Bytes(5, s)
	}
	return request
}

// exemplar converts an Exemplar of 1.0 to one of 2.0.
func exemplar(b []byte, ref func(text string) uint64) (converted Message) {
	var refs []byte
	eachField(b, func(field protowire.Number, wire protowire.Type, value, all []byte) {
		if field != 1 || wire != protowire.BytesType {
			converted = append(converted, all...)
			return
		}
		name, text := label(value)
		refs = protowire.AppendVarint(protowire.AppendVarint(refs, ref(name)), ref(text))
	})
	return converted.Bytes(1, refs)
}

// label returns the name and the value of a Label message.
func label(b []byte) (name, value string) {
	eachField(b, func(field protowire.Number, wire protowire.Type, text, _ []byte) {
		switch {
		case wire != protowire.BytesType:
		case field == 1:
			name = string(text)
		case field == 2:
			value = string(text)
		}
	})
	return name, value
}

// eachField calls f with each field of a valid message: the bytes of a field of bytes, and the whole field.
func eachField(b []byte, f func(field protowire.Number, wire protowire.Type, value, all []byte)) {
	for len(b) > 0 {
		field, wire, n := protowire.ConsumeTag(b)
		size := n + protowire.ConsumeFieldValue(field, wire, b[n:])
		var value []byte
		if wire == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(b[n:])
		}
		f(field, wire, value, b[:size])
		b = b[size:]
	}
}
