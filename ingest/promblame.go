package ingest

// blame returns the path in a WriteRequest of what breaks a rule.
func (p *promParser) blame(why reason, index, position int, l *label) string {
	series := indexPath("timeseries", index)
	const labels = ".labels"
	switch why {
	case timeEarly, timeLate:
		return indexPath(series+".samples", position) + ".timestamp"
	case timeExpired: // which of them is not known any more: stale markers were among them
		return series + ".samples"
	case valueNotFinite:
		return indexPath(series+".samples", position) + ".value"
	case valueHistogram:
		return indexPath(series+".histograms", position)
	case tagsMany:
		return series + labels
	case metricEmpty, metricLong, metricNUL, metricUTF8:
		return memberPath(series+labels, promMetric)
	case tagEmpty, tagLong, tagNUL, tagUTF8, tagTwice, tagValueLong, tagValueNUL:
		return memberPath(series+labels, l.culprit)
	case sourceUnknown, sourceName, sourceLimit:
		return memberPath(series+labels, promJob)
	}
	return series
}
