package sparkplug

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of the messages Payload and Metric in sparkplug_b.proto of Eclipse Tahu.
const (
	payloadTimestamp = 1
	payloadMetrics   = 2
	payloadUUID      = 4

	metricName      = 1
	metricAlias     = 2
	metricTimestamp = 3
	metricDatatype  = 4
	metricTransient = 6
	metricIsNull    = 7
	metricInt       = 10
	metricLong      = 11
	metricFloat     = 12
	metricDouble    = 13
	metricBoolean   = 14
	metricString    = 15
)

// Datatypes of metrics whose values are points. Other types (data sets, templates, bytes, arrays) are left out.
const (
	typeInt8     = 1
	typeInt16    = 2
	typeInt32    = 3
	typeInt64    = 4
	typeUInt64   = 8
	typeBoolean  = 11
	typeString   = 12
	typeDateTime = 13
	typeText     = 14
	typeUUID     = 15
)

// maxMetrics bounds the metrics of a payload.
const maxMetrics = 100_000

// compressed is the uuid of a payload that has another one inside, as libraries of Eclipse Tahu send it on request. The
// specification does not have it.
const compressed = "SPBV1.0_COMPRESSED"

var (
	errPayload    = errors.New("the payload is not a message of Sparkplug B")
	errCompressed = errors.New("compressed payloads of Sparkplug B are not supported")
)

// rawMetric is a metric as it was sent.
type rawMetric struct {
	name             string
	alias, timestamp uint64 // ms since the epoch; 0: none
	datatype         uint64 // 0: none
	isNull, hasAlias bool
	transient        bool
	field            protowire.Number // of the value; 0: none, or a type without points
	bits             uint64
	text             string
}

// payload is a parsed payload.
type payload struct {
	timestamp uint64 // ms since the epoch; 0: none
	metrics   []rawMetric
}

// parsePayload parses a payload.
func parsePayload(b []byte) (p payload, err error) {
	err = eachField(b, func(f fieldValue) error {
		switch f.number {
		case payloadTimestamp:
			p.timestamp = f.bits
		case payloadUUID:
			if string(f.bytes) == compressed {
				return errCompressed
			}
		case payloadMetrics:
			if len(p.metrics) == maxMetrics {
				return errPayload
			}
			m, err := parseMetric(f.bytes)
			p.metrics = append(p.metrics, m)
			return err
		}
		return nil
	})
	return p, err
}

func parseMetric(b []byte) (m rawMetric, err error) {
	err = eachField(b, func(f fieldValue) error {
		switch f.number {
		case metricName:
			m.name = string(f.bytes)
		case metricAlias:
			m.alias, m.hasAlias = f.bits, true
		case metricTimestamp:
			m.timestamp = f.bits
		case metricDatatype:
			m.datatype = f.bits
		case metricTransient:
			m.transient = f.bits != 0
		case metricIsNull:
			m.isNull = f.bits != 0
		case metricInt, metricLong, metricFloat, metricDouble, metricBoolean:
			m.field, m.bits = f.number, f.bits
		case metricString:
			m.field, m.text = f.number, string(f.bytes)
		}
		return nil
	})
	return m, err
}

// fieldValue is a field of a message: bytes, or the bits of a number.
type fieldValue struct {
	number protowire.Number
	bits   uint64
	bytes  []byte
}

// wireTypes are the types of the fields that are read. A field of another type is an error.
var wireTypes = map[protowire.Number]protowire.Type{
	metricFloat: protowire.Fixed32Type, metricDouble: protowire.Fixed64Type, metricString: protowire.BytesType,
}

// eachField calls visit for each field of a message.
func eachField(b []byte, visit func(fieldValue) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errPayload
		}
		if want, fixed := wireTypes[number]; fixed && kind != want {
			return errPayload
		}
		b = b[n:]
		f := fieldValue{number: number}
		switch kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(b)
			f.bits = uint64(bits)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errPayload
		}
		if err := visit(f); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// value sets the value of a metric. It reports false for a value that is not a point: null, NaN, infinite, or of a type
// without points.
func (m *rawMetric) value(into *Metric) bool {
	switch {
	case m.isNull:
		return false
	case m.field == metricString:
		into.Text, into.IsText = m.text, true
		return m.datatype == 0 || m.datatype == typeString || m.datatype == typeText || m.datatype == typeUUID
	case m.field == metricFloat:
		into.Number = float64(math.Float32frombits(uint32(m.bits)))
	case m.field == metricDouble:
		into.Number = math.Float64frombits(m.bits)
	case m.field == metricBoolean:
		into.Number = float64(min(m.bits, 1))
	case m.field == metricInt || m.field == metricLong:
		into.Number = m.integer()
	default:
		return false
	}
	return !math.IsNaN(into.Number) && !math.IsInf(into.Number, 0)
}

// integer returns an integer. Negative ones are sent in two's complement of the type's width, or wider.
func (m *rawMetric) integer() float64 {
	switch m.datatype {
	case typeInt8:
		return float64(int8(m.bits))
	case typeInt16:
		return float64(int16(m.bits))
	case typeInt32:
		return float64(int32(m.bits))
	case typeInt64:
		return float64(int64(m.bits))
	}
	return float64(m.bits)
}
