package jsonpoints

import (
	"cmp"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// fieldPathJSON returns the path of the field whose value breaks a rule.
func (p *Parser) fieldPathJSON(why rejection.Reason, index, position int, l *block.Label) string {
	return p.fieldPath(objectPath(p.list, index), why, position, l)
}

// fieldPathNDJSON returns the path, in the object of a line, of the field whose value breaks a rule.
func (p *Parser) fieldPathNDJSON(why rejection.Reason, _, position int, l *block.Label) string {
	return p.fieldPath("", why, position, l)
}

// fieldPath returns the path of the field whose value breaks a rule. object is the path of its object.
func (p *Parser) fieldPath(object string, why rejection.Reason, position int, l *block.Label) string {
	var f field
	switch why {
	case rejection.TimeForm, rejection.TimeFraction, rejection.TimeEarly, rejection.TimeLate, rejection.TimeExpired:
		f = fieldTimestamp
	case rejection.ValueRange, rejection.ValueLong, rejection.ValueNUL:
		f = fieldValue
	case rejection.MetricEmpty, rejection.MetricLong, rejection.MetricNUL:
		f = fieldMetric
	case rejection.TagsMany:
		f = fieldTags
	case rejection.TagEmpty, rejection.TagLong, rejection.TagNUL, rejection.TagValueLong, rejection.TagValueNUL:
		return fieldpath.Member(fieldpath.Member(object, fieldNames[fieldTags]), l.InvalidTag)
	case rejection.SourceUnknown, rejection.SourceName, rejection.SourceLimit:
		return p.sourcePath(object, l)
	default:
		return cmp.Or(object, "body")
	}
	if position == rejection.NoPosition {
		if why == rejection.TimeExpired && p.list == fieldSeries {
			return fieldpath.Member(object, fieldNames[f]+"s")
		}
		return fieldpath.Member(object, fieldNames[f])
	}
	// The array fields of a series have plural names.
	return fieldpath.Index(fieldpath.Member(object, fieldNames[f]+"s"), position)
}

// sourcePath returns the path of the field that names a label's source.
func (p *Parser) sourcePath(object string, l *block.Label) string {
	f := fieldSourceID
	if p.batch.Sources.List[l.Source].ByName {
		f = fieldSource
	}
	if len(l.Tokens.Source) == 0 {
		return fieldNames[f]
	}
	return fieldpath.Member(object, fieldNames[f])
}
