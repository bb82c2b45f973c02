package lineprotocol

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// unparsedField returns the path of the part of a line that cannot be parsed.
func (p *Parser) unparsedField() string {
	switch p.why {
	case rejection.LineMeasurement:
		return "measurement"
	case rejection.LineTag:
		return "tags"
	case rejection.LineField, rejection.LineNoField:
		return "fields"
	case rejection.LineValue, rejection.LineQuote:
		return fieldpath.Member("fields", p.invalidField)
	case rejection.LineTail:
		return "timestamp"
	}
	return "line"
}

// fieldPath returns the path of the part of a line whose value breaks a rule.
func fieldPath(why rejection.Reason, _, _ int, l *block.Label) string {
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
		return fieldpath.Member("tags", l.InvalidTag)
	case rejection.SourceUnknown, rejection.SourceName, rejection.SourceLimit:
		return "measurement"
	}
	return "line"
}
