package otlp

import "github.com/livegraph/livegraph/ingest/parse/protobuf"

// The protobuf tags of the fields that the parser reads, of the messages of OTLP 1.x
// (https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto).
const (
	requestResources = 1<<3 | protobuf.Bytes

	resourceResource = 1<<3 | protobuf.Bytes
	resourceScopes   = 2<<3 | protobuf.Bytes
	resourceAttr     = 1<<3 | protobuf.Bytes // of Resource

	scopeScope     = 1<<3 | protobuf.Bytes
	scopeMetrics   = 2<<3 | protobuf.Bytes
	scopeSchemaURL = 3<<3 | protobuf.Bytes
	scopeName      = 1<<3 | protobuf.Bytes // of InstrumentationScope, like the next
	scopeVersion   = 2<<3 | protobuf.Bytes
	scopeAttr      = 3<<3 | protobuf.Bytes

	metricName        = 1<<3 | protobuf.Bytes
	metricHelp        = 2<<3 | protobuf.Bytes // the description
	metricUnit        = 3<<3 | protobuf.Bytes
	metricGauge       = 5<<3 | protobuf.Bytes
	metricSum         = 7<<3 | protobuf.Bytes
	metricHistogram   = 9<<3 | protobuf.Bytes
	metricExponential = 10<<3 | protobuf.Bytes
	metricSummary     = 11<<3 | protobuf.Bytes
	dataPoints        = 1<<3 | protobuf.Bytes // of each of these, like the next
	dataTemporality   = 2<<3 | protobuf.Varint
	dataMonotonic     = 3<<3 | protobuf.Varint // of Sum

	pointTime = 3<<3 | protobuf.Fixed64 // of all data points

	numberDouble = 4<<3 | protobuf.Fixed64
	numberInt    = 6<<3 | protobuf.Fixed64
	numberAttr   = 7<<3 | protobuf.Bytes
	numberFlags  = 8<<3 | protobuf.Varint

	pointCount = 4<<3 | protobuf.Fixed64 // of histograms and summaries, like the next
	pointSum   = 5<<3 | protobuf.Fixed64

	histogramCounts  = 6<<3 | protobuf.Bytes
	histogramCount   = 6<<3 | protobuf.Fixed64 // not packed
	histogramBounds  = 7<<3 | protobuf.Bytes
	histogramBound   = 7<<3 | protobuf.Fixed64 // not packed
	histogramAttr    = 9<<3 | protobuf.Bytes
	histogramFlags   = 10<<3 | protobuf.Varint
	histogramMin     = 11<<3 | protobuf.Fixed64
	histogramMax     = 12<<3 | protobuf.Fixed64
	exponentialAttr  = 1<<3 | protobuf.Bytes
	exponentialScale = 6<<3 | protobuf.Varint
	exponentialZeros = 7<<3 | protobuf.Fixed64
	exponentialAbove = 8<<3 | protobuf.Bytes
	exponentialBelow = 9<<3 | protobuf.Bytes
	exponentialFlags = 10<<3 | protobuf.Varint
	exponentialMin   = 12<<3 | protobuf.Fixed64
	exponentialMax   = 13<<3 | protobuf.Fixed64
	exponentialZero  = 14<<3 | protobuf.Fixed64 // the threshold
	bucketsOffset    = 1<<3 | protobuf.Varint
	bucketsCounts    = 2<<3 | protobuf.Bytes
	bucketsCount     = 2<<3 | protobuf.Varint // not packed

	numberExemplar      = 5<<3 | protobuf.Bytes
	histogramExemplar   = 8<<3 | protobuf.Bytes
	exponentialExemplar = 11<<3 | protobuf.Bytes
	exemplarTime        = 2<<3 | protobuf.Fixed64 // of Exemplar, like the next
	exemplarDouble      = 3<<3 | protobuf.Fixed64
	exemplarSpan        = 4<<3 | protobuf.Bytes
	exemplarTrace       = 5<<3 | protobuf.Bytes
	exemplarInt         = 6<<3 | protobuf.Fixed64
	exemplarAttr        = 7<<3 | protobuf.Bytes

	summaryQuantile = 6<<3 | protobuf.Bytes
	summaryAttr     = 7<<3 | protobuf.Bytes
	summaryFlags    = 8<<3 | protobuf.Varint
	quantileRank    = 1<<3 | protobuf.Fixed64
	quantileValue   = 2<<3 | protobuf.Fixed64

	pairKey   = 1<<3 | protobuf.Bytes // of KeyValue
	pairValue = 2<<3 | protobuf.Bytes

	anyString = 1<<3 | protobuf.Bytes // of AnyValue
	anyBool   = 2<<3 | protobuf.Varint
	anyInt    = 3<<3 | protobuf.Varint
	anyDouble = 4<<3 | protobuf.Fixed64
	anyArray  = 5<<3 | protobuf.Bytes
	anyPairs  = 6<<3 | protobuf.Bytes
	anyBytes  = 7<<3 | protobuf.Bytes
	listValue = 1<<3 | protobuf.Bytes // of ArrayValue and KeyValueList
)

// Values of AggregationTemporality.
const (
	temporalityDelta      = 1
	temporalityCumulative = 2
)

// noRecordedValue is the flag of data points without a value, which end a series.
const noRecordedValue = 1

// layout describes the data points of one type of metric.
type layout struct {
	name        string // of the field in JSON
	attributes  uint64
	flags       uint64
	exemplars   uint64
	temporality bool       // the type has a temporality
	bound       bool       // some of its series have a bound as a tag
	longest     seriesKind // the kind of its series that has the longest name
	kind        string     // its type in Prometheus; see metricmetadata.Types
}

// layouts has the types of metrics by the tag of their field.
var layouts = map[uint64]*layout{
	metricGauge: {name: "gauge", attributes: numberAttr, flags: numberFlags, exemplars: numberExemplar, kind: "gauge"},
	metricSum: {
		name: "sum", attributes: numberAttr, flags: numberFlags, exemplars: numberExemplar, temporality: true, kind: "gauge",
	},
	metricHistogram: {
		name: "histogram", attributes: histogramAttr, flags: histogramFlags, exemplars: histogramExemplar,
		temporality: true, bound: true, longest: seriesBucket, kind: "histogram",
	},
	metricExponential: {
		name: "exponentialHistogram", attributes: exponentialAttr, flags: exponentialFlags,
		exemplars: exponentialExemplar, temporality: true, longest: seriesMin, kind: "histogram",
	},
	metricSummary: {
		name: "summary", attributes: summaryAttr, flags: summaryFlags, bound: true, longest: seriesBucket, kind: "summary",
	},
}
