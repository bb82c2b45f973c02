package ingest

// blame names the part of a line that cannot be read.
func (p *lineParser) blame() string {
	switch p.why {
	case lineMeasurement:
		return "measurement"
	case lineTag:
		return "tags"
	case lineField, lineNoField:
		return "fields"
	case lineValue, lineQuote:
		return memberPath("fields", p.culprit)
	case lineTail:
		return "timestamp"
	}
	return "line"
}

// blameLine names the part of a line whose value breaks a rule.
func blameLine(why reason, _, _ int, l *label) string {
	switch why {
	case timeForm, timeFraction, timeEarly, timeLate, timeExpired:
		return "timestamp"
	case valueRange, valueLong, valueNUL, metricEmpty, metricLong, metricNUL:
		return memberPath("fields", l.metric)
	case tagsMany:
		return "tags"
	case tagEmpty, tagLong, tagNUL, tagValueLong, tagValueNUL, tagTwice:
		return memberPath("tags", l.culprit)
	case sourceUnknown, sourceName, sourceLimit:
		return "measurement"
	}
	return "line"
}
