package livedata

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres"
)

// seriesFilter reads the parameters that select series, which several routes
// have in common.
func seriesFilter(p *request.Params) postgres.SeriesFilter {
	filter := postgres.SeriesFilter{
		Sources: p.UUIDs("sourceId"),
		NodeID:  optionalUUID(p, "nodeId"),
		Metrics: p.Strings("metric"),
		Tags:    p.Family("tag."),
	}
	if name, given := p.String("source"); given {
		filter.SourceName = &name
	}
	return filter
}

func optionalUUID(p *request.Params, name string) *uuid.UUID {
	text, given := p.String(name)
	if !given {
		return nil
	}
	id, ok := request.ParseUUID(text)
	if !ok {
		p.Fail(name, "must be a UUID")
	}
	return &id
}
