// Package selector parses the parameters with which the live-data routes select series.
package selector

import (
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Read parses the parameters that select series.
func Read(p *request.Params) registry.SeriesFilter {
	filter := registry.SeriesFilter{
		Sources: p.UUIDs("sourceId"),
		NodeID:  p.UUID("nodeId"),
		Metrics: p.Strings("metric"),
		Tags:    p.Family("tag."),
	}
	if name, given := p.String("source"); given {
		filter.SourceName = &name
	}
	return filter
}
