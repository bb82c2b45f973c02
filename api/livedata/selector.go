package livedata

import (
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres"
)

// seriesFilter reads the parameters that select series, which several routes
// have in common.
func seriesFilter(p *request.Params) postgres.SeriesFilter {
	filter := postgres.SeriesFilter{
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
