package lineprotocol

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// blame names the part of a line that cannot be read.
func (p *Parser) blame() string {
	switch p.why {
	case rejection.LineMeasurement:
		return "measurement"
	case rejection.LineTag:
		return "tags"
	case rejection.LineField, rejection.LineNoField:
		return "fields"
	case rejection.LineValue, rejection.LineQuote:
		return fieldpath.Member("fields", p.culprit)
	case rejection.LineTail:
		return "timestamp"
	}
	return "line"
}

// blameLine names the part of a line whose value breaks a rule.
func blameLine(why rejection.Reason, _, _ int, l *block.Label) string {
	switch why {
	case rejection.TimeForm, rejection.TimeFraction, rejection.TimeEarly, rejection.TimeLate, rejection.TimeExpired:
		return "timestamp"
	case rejection.ValueRange, rejection.ValueLong, rejection.ValueNUL, rejection.MetricEmpty,
		rejection.MetricLong, rejection.MetricNUL:
		return fieldpath.Member("fields", l.Metric)
	case rejection.TagsMany:
		return "tags"
	case rejection.TagEmpty, rejection.TagLong, rejection.TagNUL, rejection.TagValueLong, rejection.TagValueNUL,
		rejection.TagTwice:
		return fieldpath.Member("tags", l.Culprit)
	case rejection.SourceUnknown, rejection.SourceName, rejection.SourceLimit:
		return "measurement"
	}
	return "line"
}
