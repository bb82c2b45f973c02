package jsonpoints

import (
	"cmp"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// blameJSON returns the path of the field whose value breaks a rule.
func (p *Parser) blameJSON(why rejection.Reason, index, position int, l *block.Label) string {
	return p.blame(objectPath(p.list, index), why, position, l)
}

// blameNDJSON returns the same in the object of a line.
func (p *Parser) blameNDJSON(why rejection.Reason, _, position int, l *block.Label) string {
	return p.blame("", why, position, l)
}

// blame returns the path of the field whose value breaks a rule, in an object with a path.
func (p *Parser) blame(object string, why rejection.Reason, position int, l *block.Label) string {
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
		return fieldpath.Member(fieldpath.Member(object, fieldNames[fieldTags]), l.Culprit)
	case rejection.SourceUnknown, rejection.SourceName, rejection.SourceLimit:
		return p.sourcePath(object, l)
	default:
		return cmp.Or(object, "body")
	}
	if position == rejection.Whole {
		if why == rejection.TimeExpired && p.list == fieldSeries {
			return fieldpath.Member(object, fieldNames[f]+"s")
		}
		return fieldpath.Member(object, fieldNames[f])
	}
	// In a series the arrays are named in the plural.
	return fieldpath.Index(fieldpath.Member(object, fieldNames[f]+"s"), position)
}

// sourcePath reports where a label's source was given.
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
