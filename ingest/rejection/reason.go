// Package rejection defines the reasons for which points are rejected and counts the rejected points. The response
// identifies the first point of each reason and has the number of all.
package rejection

// Reason is why a point is rejected. Rejections are grouped by reason, so the
// number of groups is bounded.
type Reason uint8

// The reasons.
const (
	None Reason = iota
	TimeForm
	TimeFraction
	TimeEarly
	TimeLate
	TimeExpired
	ValueRange
	ValueLong
	ValueNUL
	ValueNotFinite
	ValueHistogram
	MetricEmpty
	MetricLong
	MetricNUL
	MetricUTF8
	TagsMany
	TagEmpty
	TagLong
	TagNUL
	TagUTF8
	TagTwice
	TagValueLong
	TagValueNUL
	SourceUnknown
	SourceName
	SourceLimit
	SeriesLimit
	LineMeasurement
	LineTag
	LineNoField
	LineField
	LineValue
	LineQuote
	LineTail
	LineUTF8
	TimeMissing
	ValueMissing
	SumTemporality
	BucketsInvalid
	BucketsMany
	QuantileRange
	ScaleRange
	ThresholdRange
	BucketsSum
	BucketsOffset
	Reasons
)

// Text returns the error text, which follows the name of the field.
func (r Reason) Text() string { return reasonText[r] }

// MetricLabel returns the value of the metric label reason.
func (r Reason) MetricLabel() string { return reasonLabel[r] }

// reasonText has the error texts, which follow the name of the field.
var reasonText = [Reasons]string{
	TimeForm:      "must be an RFC 3339 time such as 2026-11-21T07:40:08Z",
	TimeFraction:  "must be an integer, without fraction or exponent",
	TimeEarly:     "is before 1970",
	TimeLate:      "is more than a day ahead of the server's clock (see precision)",
	TimeExpired:   "is older than its source or the workspace keeps points (retentionDays)",
	ValueRange:    "is beyond the range of numbers",
	ValueLong:     "must have at most 1024 bytes",
	ValueNUL:      "must not contain U+0000",
	MetricEmpty:   "must not be empty",
	MetricLong:    "must have at most 256 characters",
	MetricNUL:     "must not contain U+0000",
	TagsMany:      "must be at most 64, those from the request's defaults included",
	TagEmpty:      "must not be an empty name",
	TagLong:       "must have a name of at most 256 characters",
	TagNUL:        "must not contain U+0000 in the name",
	TagValueLong:  "must have at most 1024 bytes",
	TagValueNUL:   "must not contain U+0000",
	SourceUnknown: "is not a source of this workspace",
	SourceName: "cannot name a source: it must have 1 to 256 characters, none of them a control character, and not " +
		"only spaces",
	SourceLimit: "is of a new source, and the workspace has as many sources as its limit (maxSources) allows",
	SeriesLimit: "is of a new series, and the workspace has as many series as its limit (maxSeries) allows",

	// Line protocol.
	TagTwice:        "is given more than once",
	LineMeasurement: "must come first in a line",
	LineTag: "must be key=value after the measurement, none of them empty, with a backslash before commas, " +
		"equals signs and spaces",
	LineNoField: "are missing: after measurement and tags come a space and key=value",
	LineField:   "must be key=value, with commas between and no spaces",
	LineValue:   "must be a number, an integer with i or u after it, a boolean, or a string in double quotes",
	LineQuote:   "must be a string that ends with a double quote, with a backslash before those in it",
	LineTail:    "must be the last of the line",
	LineUTF8:    "is not valid UTF-8",

	// Prometheus remote write.
	ValueNotFinite: "must be a finite number",
	ValueHistogram: "must be a valid native histogram of at most 8192 bytes",
	MetricUTF8:     "is not valid UTF-8",
	TagUTF8:        "is not valid UTF-8",

	// OpenTelemetry.
	TimeMissing:    "must be set, in nanoseconds since 1970",
	ValueMissing:   "must be set: asDouble or asInt",
	SumTemporality: "must be 1 (delta) or 2 (cumulative)",
	BucketsInvalid: "must have one entry more than explicitBounds, which are finite and ascending, and a sum below 2^64",
	BucketsMany:    "must have at most 1000 entries",
	QuantileRange:  "must be from 0 to 1",
	ScaleRange:     "must be at least -4",
	ThresholdRange: "must be a finite number that is not negative",
	BucketsSum:     "must be the sum of zeroCount and all bucketCounts, which is below 2^63",
	BucketsOffset:  "must be so small that all buckets with values have an index below 2147483647",
}

// reasonLabel has the values of the metric label reason.
var reasonLabel = [Reasons]string{
	TimeForm: "time_form", TimeFraction: "time_fraction", TimeEarly: "time_early", TimeLate: "time_late",
	TimeExpired: "time_expired",
	ValueRange:  "value_range", ValueLong: "value_long", ValueNUL: "value_nul",
	ValueNotFinite: "value_not_finite", ValueHistogram: "value_histogram",
	MetricEmpty: "metric_empty", MetricLong: "metric_long", MetricNUL: "metric_nul", MetricUTF8: "metric_encoding",
	TagsMany: "tags_many", TagEmpty: "tag_empty", TagLong: "tag_long", TagNUL: "tag_nul", TagUTF8: "tag_encoding",
	TagValueLong: "tag_value_long", TagValueNUL: "tag_value_nul",
	SourceUnknown: "source_unknown", SourceName: "source_name", SourceLimit: "source_limit", SeriesLimit: "series_limit",
	TagTwice: "tag_twice", LineMeasurement: "line_measurement", LineTag: "line_tag", LineNoField: "line_no_field",
	LineField:   "line_field",
	TimeMissing: "time_missing", ValueMissing: "value_missing", SumTemporality: "sum_temporality",
	BucketsInvalid: "buckets_invalid", BucketsMany: "buckets_many", QuantileRange: "quantile_range",
	ScaleRange: "scale_range", ThresholdRange: "threshold_range",
	BucketsSum: "buckets_sum", BucketsOffset: "buckets_offset",
	LineValue: "line_value", LineQuote: "line_quote", LineTail: "line_tail", LineUTF8: "line_encoding",
}
