package ingest

// reason says why a point is rejected. Rejections are grouped by it, so there
// can never be more groups than reasons.
type reason uint8

const (
	accepted reason = iota
	timeForm
	timeFraction
	timeEarly
	timeLate
	timeExpired
	valueRange
	valueLong
	valueNUL
	valueNotFinite
	valueHistogram
	metricEmpty
	metricLong
	metricNUL
	metricUTF8
	tagsMany
	tagEmpty
	tagLong
	tagNUL
	tagUTF8
	tagTwice
	tagValueLong
	tagValueNUL
	sourceUnknown
	sourceName
	sourceLimit
	seriesLimit
	lineMeasurement
	lineTag
	lineNoField
	lineField
	lineValue
	lineQuote
	lineTail
	lineUTF8
	reasons
)

// text returns what the caller reads, after the name of the field.
func (r reason) text() string { return reasonText[r] }

// metricLabel returns the name of the reason in metrics.
func (r reason) metricLabel() string { return reasonLabel[r] }

// reasonText is what the caller reads, after the name of the field.
var reasonText = [reasons]string{
	timeForm:      "must be an RFC 3339 time such as 2026-11-21T07:40:08Z",
	timeFraction:  "must be an integer, without fraction or exponent",
	timeEarly:     "is before 1970",
	timeLate:      "is more than a day ahead of the server's clock (see precision)",
	timeExpired:   "is older than its source or the workspace keeps points (retentionDays)",
	valueRange:    "is beyond the range of numbers",
	valueLong:     "must have at most 1024 bytes",
	valueNUL:      "must not contain U+0000",
	metricEmpty:   "must not be empty",
	metricLong:    "must have at most 256 characters",
	metricNUL:     "must not contain U+0000",
	tagsMany:      "must be at most 64, those from the request's defaults included",
	tagEmpty:      "must not be an empty name",
	tagLong:       "must have a name of at most 256 characters",
	tagNUL:        "must not contain U+0000 in the name",
	tagValueLong:  "must have at most 1024 bytes",
	tagValueNUL:   "must not contain U+0000",
	sourceUnknown: "is not a source of this workspace",
	sourceName: "cannot name a source: it must have 1 to 256 characters, none of them a control character, and not " +
		"only spaces",
	sourceLimit: "is of a new source, and the workspace has as many sources as its limit (maxSources) allows",
	seriesLimit: "is of a new series, and the workspace has as many series as its limit (maxSeries) allows",

	// Of the line protocol.
	tagTwice:        "is given more than once",
	lineMeasurement: "must come first in a line",
	lineTag: "must be key=value after the measurement, none of them empty, with a backslash before commas, " +
		"equals signs and spaces",
	lineNoField: "are missing: after measurement and tags come a space and key=value",
	lineField:   "must be key=value, with commas between and no spaces",
	lineValue:   "must be a number, an integer with i or u after it, a boolean, or a string in double quotes",
	lineQuote:   "must be a string that ends with a double quote, with a backslash before those in it",
	lineTail:    "must be the last of the line",
	lineUTF8:    "is not valid UTF-8",

	// Of Prometheus.
	valueNotFinite: "must be a finite number",
	valueHistogram: "is a native histogram; only samples are stored (Prometheus: send_native_histograms: false, classic " +
		"histograms are taken)",
	metricUTF8: "is not valid UTF-8",
	tagUTF8:    "is not valid UTF-8",
}

// reasonLabel names the reasons in metrics.
var reasonLabel = [reasons]string{
	timeForm: "time_form", timeFraction: "time_fraction", timeEarly: "time_early", timeLate: "time_late",
	timeExpired: "time_expired",
	valueRange:  "value_range", valueLong: "value_long", valueNUL: "value_nul",
	valueNotFinite: "value_not_finite", valueHistogram: "value_histogram",
	metricEmpty: "metric_empty", metricLong: "metric_long", metricNUL: "metric_nul", metricUTF8: "metric_encoding",
	tagsMany: "tags_many", tagEmpty: "tag_empty", tagLong: "tag_long", tagNUL: "tag_nul", tagUTF8: "tag_encoding",
	tagValueLong: "tag_value_long", tagValueNUL: "tag_value_nul",
	sourceUnknown: "source_unknown", sourceName: "source_name", sourceLimit: "source_limit", seriesLimit: "series_limit",
	tagTwice: "tag_twice", lineMeasurement: "line_measurement", lineTag: "line_tag", lineNoField: "line_no_field",
	lineField: "line_field",
	lineValue: "line_value", lineQuote: "line_quote", lineTail: "line_tail", lineUTF8: "line_encoding",
}
