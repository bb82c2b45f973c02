package ingest

import (
	"cmp"
	"slices"
)

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

// Rejection says why points were rejected: the first of them, and how many there
// are for the same reason.
type Rejection struct {
	Index    int    `json:"index"`              // the row, or the series
	Position *int   `json:"position,omitempty"` // the value in the series, where it is one value's fault
	Line     *int   `json:"line,omitempty"`     // in formats that have lines, from 1
	Field    string `json:"field"`              // as in points[3].timestamp
	Reason   string `json:"reason"`
	Count    int    `json:"count"`
}

// whole stands for the position when all points of a series are meant.
const whole = -1

// tally counts rejected points by reason.
type tally struct {
	rejected int
	groups   [reasons]struct {
		count, index, position int
		field                  string
	}
}

// add counts n more points. It reports whether these are the first of their
// reason in the request, whose field the caller then sets.
func (t *tally) add(why reason, index, position, n int) (field *string) {
	if n == 0 {
		return nil
	}
	t.rejected += n
	g := &t.groups[why]
	first := g.count == 0 || index < g.index
	g.count += n
	if !first {
		return nil
	}
	g.index, g.position = index, position
	return &g.field
}

// list returns the groups in the order of their first point. It is never nil.
func (t *tally) list() []Rejection {
	list := []Rejection{}
	for why := range t.groups {
		g := &t.groups[why]
		if g.count == 0 {
			continue
		}
		r := Rejection{Index: g.index, Field: g.field, Reason: reasonText[why], Count: g.count}
		if position := g.position; position != whole {
			r.Position = &position
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(deref(a.Position), deref(b.Position)))
	})
	return list
}

func deref(p *int) int {
	if p == nil {
		return whole
	}
	return *p
}
