package remotewrite

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// fieldPath returns the path in a WriteRequest of the field that breaks a rule.
func (p *Parser) fieldPath(why rejection.Reason, index, position int, l *block.Label) string {
	series := fieldpath.Index("timeseries", index)
	const labels = ".labels"
	switch why {
	case rejection.TimeEarly, rejection.TimeLate:
		return p.pointPath(series, position) + ".timestamp"
	case rejection.TimeExpired: // the position is unknown, because stale markers were removed
		return series + ".samples"
	case rejection.ValueHistogram:
		return p.pointPath(series, position)
	case rejection.TagsMany:
		return series + labels
	case rejection.MetricEmpty, rejection.MetricLong, rejection.MetricNUL, rejection.MetricUTF8:
		return fieldpath.Member(series+labels, metricName)
	case rejection.TagEmpty, rejection.TagLong, rejection.TagNUL, rejection.TagUTF8, rejection.TagTwice,
		rejection.TagValueLong, rejection.TagValueNUL:
		return fieldpath.Member(series+labels, l.InvalidTag)
	case rejection.SourceUnknown, rejection.SourceName, rejection.SourceLimit:
		return fieldpath.Member(series+labels, jobLabel)
	}
	return series
}

// pointPath returns the path of a point of the current TimeSeries. Its samples come before its native histograms.
func (p *Parser) pointPath(series string, position int) string {
	if p.histograms && position >= p.samples {
		return fieldpath.Index(series+".histograms", position-p.samples)
	}
	return fieldpath.Index(series+".samples", position)
}
