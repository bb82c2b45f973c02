// Package otlp parses the metrics of OpenTelemetry, as exporters send them by OTLP
// (https://opentelemetry.io/docs/specs/otlp): an ExportMetricsServiceRequest in protobuf or in JSON. A request in JSON
// is first encoded in protobuf, so that there is one interpretation of both.
//
// The names of series are those of Prometheus' translation, without changes to names:
//
//	gauge, sum              METRIC
//	histogram               METRIC_bucket{le}, METRIC_count, METRIC_sum, METRIC_min, METRIC_max
//	exponential histogram   METRIC with native histograms of Prometheus, METRIC_min, METRIC_max
//	summary                 METRIC{quantile}, METRIC_count, METRIC_sum
//	resource                target_info, with the attributes that do not name the source
//
// The attributes of a data point become tags, and those of the scope tags with the prefix otel_scope_. Series of delta
// temporality have the tag __temporality__=delta, so that they are never mixed with cumulative ones.
//
// A body that is not such a message is Malformed. More points than the limit are TooLarge. For all other errors, single
// data points are rejected:
//
//	time: none, over a day ahead                 value: none, NaN, infinite
//	temporality: neither delta nor cumulative    buckets: not one more than bounds, over 1,000; bounds not ascending
//	metric and attributes as in all formats      source: service.name/service.instance.id cannot name one
//	scale: below -4                              counts: their sum is not the count
//	zeroThreshold: negative, NaN, infinite       offset: of buckets beyond those of Prometheus
//
// A request without data points is accepted, as the protocol requires. A data point of an exponential histogram that
// says that nothing was recorded becomes a stale marker, and those of other types are ignored, as start times are.
// Types, units and descriptions of metrics are added to the batch as metadata. Exemplars are added to the batch with
// the labels of Prometheus' receiver: trace_id, span_id and the filtered attributes, which are left out if the labels
// would be too long. Those without a time or a value are dropped.
package otlp
