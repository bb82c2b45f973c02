package otlp

// form is how the value of a field is written in JSON and in protobuf.
type form uint8

const (
	formMessage     form = iota
	formString           // string, bytes of UTF-8
	formBytes            // base64, bytes
	formHex              // hexadecimal, bytes
	formBool             // boolean, varint
	formDouble           // number, fixed64
	formFixed            // uint64 as fixed64
	formSignedFixed      // int64 as fixed64
	formVarint           // uint64
	formInt              // int64 as varint
	formUint32           // as varint
	formZigzag           // int32 as zigzag varint
	formEnum             // number or name, varint
)

// field is a field that the parser reads. Others are ignored in JSON as well.
type field struct {
	number  uint64
	form    form
	message messageType // of formMessage
	list    bool
	// describes is set if the field is metadata. A value of another type is ignored, because a request never fails
	// because of metadata.
	describes bool
}

type messageType uint8

const (
	requestMessage messageType = iota
	resourceMetricsMessage
	resourceMessage
	scopeMetricsMessage
	scopeMessage
	metricMessage
	gaugeMessage
	sumMessage
	histogramMessage
	exponentialMessage
	summaryMessage
	numberPointMessage
	histogramPointMessage
	exponentialPointMessage
	bucketsMessage
	summaryPointMessage
	quantileMessage
	exemplarMessage
	pairMessage
	anyMessage
	arrayMessage
	pairsMessage
)

func listOf(number uint64, message messageType) field {
	return field{number: number, message: message, list: true}
}

// messages has the fields of each message by their names in JSON.
var messages = [...]map[string]field{
	requestMessage: {"resourceMetrics": listOf(1, resourceMetricsMessage)},
	resourceMetricsMessage: {
		"resource": {number: 1, message: resourceMessage}, "scopeMetrics": listOf(2, scopeMetricsMessage),
	},
	resourceMessage: {"attributes": listOf(1, pairMessage)},
	scopeMetricsMessage: {
		"scope": {number: 1, message: scopeMessage}, "metrics": listOf(2, metricMessage),
		"schemaUrl": {number: 3, form: formString},
	},
	scopeMessage: {
		"name": {number: 1, form: formString}, "version": {number: 2, form: formString},
		"attributes": listOf(3, pairMessage),
	},
	metricMessage: {
		"name": {number: 1, form: formString}, "description": {number: 2, form: formString, describes: true},
		"unit": {number: 3, form: formString, describes: true}, "gauge": {number: 5, message: gaugeMessage},
		"sum": {number: 7, message: sumMessage}, "histogram": {number: 9, message: histogramMessage},
		"exponentialHistogram": {number: 10, message: exponentialMessage}, "summary": {number: 11, message: summaryMessage},
	},
	gaugeMessage: {"dataPoints": listOf(1, numberPointMessage)},
	sumMessage: {
		"dataPoints": listOf(1, numberPointMessage), "aggregationTemporality": {number: 2, form: formEnum},
		"isMonotonic": {number: 3, form: formBool, describes: true},
	},
	histogramMessage: {
		"dataPoints": listOf(1, histogramPointMessage), "aggregationTemporality": {number: 2, form: formEnum},
	},
	exponentialMessage: {
		"dataPoints": listOf(1, exponentialPointMessage), "aggregationTemporality": {number: 2, form: formEnum},
	},
	summaryMessage: {"dataPoints": listOf(1, summaryPointMessage)},
	numberPointMessage: {
		"timeUnixNano": {number: 3, form: formFixed}, "asDouble": {number: 4, form: formDouble},
		"asInt": {number: 6, form: formSignedFixed}, "attributes": listOf(7, pairMessage),
		"flags": {number: 8, form: formUint32}, "exemplars": listOf(5, exemplarMessage),
	},
	histogramPointMessage: {
		"timeUnixNano": {number: 3, form: formFixed}, "count": {number: 4, form: formFixed},
		"sum": {number: 5, form: formDouble}, "bucketCounts": {number: 6, form: formFixed, list: true},
		"explicitBounds": {number: 7, form: formDouble, list: true}, "attributes": listOf(9, pairMessage),
		"flags": {number: 10, form: formUint32}, "min": {number: 11, form: formDouble}, "max": {number: 12, form: formDouble},
		"exemplars": listOf(8, exemplarMessage),
	},
	exponentialPointMessage: {
		"attributes": listOf(1, pairMessage), "timeUnixNano": {number: 3, form: formFixed},
		"count": {number: 4, form: formFixed}, "sum": {number: 5, form: formDouble}, "scale": {number: 6, form: formZigzag},
		"zeroCount": {number: 7, form: formFixed}, "positive": {number: 8, message: bucketsMessage},
		"negative": {number: 9, message: bucketsMessage}, "flags": {number: 10, form: formUint32},
		"min": {number: 12, form: formDouble}, "max": {number: 13, form: formDouble},
		"zeroThreshold": {number: 14, form: formDouble}, "exemplars": listOf(11, exemplarMessage),
	},
	bucketsMessage: {
		"offset": {number: 1, form: formZigzag}, "bucketCounts": {number: 2, form: formVarint, list: true},
	},
	summaryPointMessage: {
		"timeUnixNano": {number: 3, form: formFixed}, "count": {number: 4, form: formFixed},
		"sum": {number: 5, form: formDouble}, "quantileValues": listOf(6, quantileMessage),
		"attributes": listOf(7, pairMessage), "flags": {number: 8, form: formUint32},
	},
	exemplarMessage: {
		"timeUnixNano": {number: 2, form: formFixed}, "asDouble": {number: 3, form: formDouble},
		"asInt": {number: 6, form: formSignedFixed}, "spanId": {number: 4, form: formHex},
		"traceId": {number: 5, form: formHex}, "filteredAttributes": listOf(7, pairMessage),
	},
	quantileMessage: {"quantile": {number: 1, form: formDouble}, "value": {number: 2, form: formDouble}},
	pairMessage:     {"key": {number: 1, form: formString}, "value": {number: 2, message: anyMessage}},
	anyMessage: {
		"stringValue": {number: 1, form: formString}, "boolValue": {number: 2, form: formBool},
		"intValue": {number: 3, form: formInt}, "doubleValue": {number: 4, form: formDouble},
		"arrayValue": {number: 5, message: arrayMessage}, "kvlistValue": {number: 6, message: pairsMessage},
		"bytesValue": {number: 7, form: formBytes},
	},
	arrayMessage: {"values": listOf(1, anyMessage)},
	pairsMessage: {"values": listOf(1, pairMessage)},
}

// temporalities are the names of AggregationTemporality.
var temporalities = map[string]uint64{
	"AGGREGATION_TEMPORALITY_UNSPECIFIED": 0, "AGGREGATION_TEMPORALITY_DELTA": temporalityDelta,
	"AGGREGATION_TEMPORALITY_CUMULATIVE": temporalityCumulative,
}
