package ingest

import "cmp"

// blameJSON returns the path of the field whose value breaks a rule.
func (p *parser) blameJSON(why reason, index, position int, l *label) string {
	return p.blame(objectPath(p.list, index), why, position, l)
}

// blameNDJSON returns the same in the object of a line.
func (p *parser) blameNDJSON(why reason, _, position int, l *label) string {
	return p.blame("", why, position, l)
}

// blame returns the path of the field whose value breaks a rule, in an object with a path.
func (p *parser) blame(object string, why reason, position int, l *label) string {
	var f field
	switch why {
	case timeForm, timeFraction, timeEarly, timeLate, timeExpired:
		f = fieldTimestamp
	case valueRange, valueLong, valueNUL:
		f = fieldValue
	case metricEmpty, metricLong, metricNUL:
		f = fieldMetric
	case tagsMany:
		f = fieldTags
	case tagEmpty, tagLong, tagNUL, tagValueLong, tagValueNUL:
		return memberPath(memberPath(object, fieldNames[fieldTags]), l.culprit)
	case sourceUnknown, sourceName, sourceLimit:
		return p.sourcePath(object, l)
	default:
		return cmp.Or(object, "body")
	}
	if position == whole {
		if why == timeExpired && p.list == fieldSeries {
			return memberPath(object, fieldNames[f]+"s")
		}
		return memberPath(object, fieldNames[f])
	}
	// In a series the arrays are named in the plural.
	return indexPath(memberPath(object, fieldNames[f]+"s"), position)
}

// sourcePath reports where a label's source was given.
func (p *parser) sourcePath(object string, l *label) string {
	f := fieldSourceID
	if p.batch.sources.list[l.source].byName {
		f = fieldSource
	}
	if len(l.tokens.source) == 0 {
		return fieldNames[f]
	}
	return memberPath(object, fieldNames[f])
}
