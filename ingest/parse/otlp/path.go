package otlp

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
)

// place is where a data point is in the request.
type place struct {
	resource, metric, data, point string // paths
}

// find returns the place of the data point with the given index. It reads the request again, which happens at most
// once per reason.
func (p *Parser) find(index int) (at place) {
	found := false
	each(p.b, requestResources, func(i int, b []byte) bool {
		at.resource = fieldpath.Index("resourceMetrics", i)
		each(b, resourceScopes, func(i int, b []byte) bool {
			scope := fieldpath.Index(at.resource+".scopeMetrics", i)
			each(b, scopeMetrics, func(i int, b []byte) bool {
				at.metric = fieldpath.Index(scope+".metrics", i)
				m, ok := readMetric(b)
				if !ok || m.layout == nil {
					return true
				}
				at.data = at.metric + "." + m.layout.name
				each(m.data, dataPoints, func(i int, _ []byte) bool {
					if found = index == 0; found {
						at.point = fieldpath.Index(at.data+".dataPoints", i)
					}
					index--
					return !found
				})
				return !found
			})
			return !found
		})
		return !found
	})
	return at
}

// each calls f with the fields of a message that have the tag until it returns false.
func each(b []byte, tag uint64, f func(i int, value []byte) bool) {
	for i, n := 0, 0; i < len(b); {
		var field protobuf.Field
		if field, i = protobuf.Next(b, i); i == scan.Failed {
			return
		}
		if field.Tag != tag {
			continue
		}
		if !f(n, field.Bytes) {
			return
		}
		n++
	}
}

// fieldPath returns the path in the request, as JSON names it, of the field that breaks a rule.
func (p *Parser) fieldPath(why rejection.Reason, index, _ int, l *block.Label) string {
	at := p.find(index)
	switch why {
	case rejection.TagEmpty, rejection.TagLong, rejection.TagNUL, rejection.TagUTF8, rejection.TagTwice,
		rejection.TagValueLong, rejection.TagValueNUL:
		if p.inInfo {
			return fieldpath.Member(at.resource+".resource.attributes", l.InvalidTag)
		}
		return fieldpath.Member(at.point+".attributes", l.InvalidTag)
	case rejection.TagsMany:
		return at.point + ".attributes"
	case rejection.MetricEmpty, rejection.MetricLong, rejection.MetricNUL, rejection.MetricUTF8:
		return at.metric + ".name"
	case rejection.SumTemporality:
		return at.data + ".aggregationTemporality"
	case rejection.SourceUnknown, rejection.SourceName, rejection.SourceLimit:
		return fieldpath.Member(at.resource+".resource.attributes", serviceName)
	case rejection.TimeExpired:
		return at.point + ".timeUnixNano"
	case rejection.SeriesLimit:
		return at.point
	}
	if p.point.member != "" {
		return at.point + "." + p.point.member
	}
	return at.point
}
