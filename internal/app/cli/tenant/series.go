package tenant

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// SeriesCmd groups the commands on series.
type SeriesCmd struct {
	List SeriesListCmd `cmd:"" help:"List a workspace's series, with their number of points and the times of the oldest and newest."`
}

// SeriesListCmd lists series.
type SeriesListCmd struct {
	tenant
	paged
	Source   string            `help:"Only those of the source with this name." placeholder:"NAME"`
	SourceID []uuid.UUID       `help:"Only those of these sources, by id." placeholder:"ID"`
	Node     *uuid.UUID        `help:"Only those of sources linked to this node." placeholder:"ID"`
	Metric   []string          `help:"Only this metric; repeat it for several." sep:"none" placeholder:"METRIC"`
	Tag      map[string]string `help:"Only those with this tag; repeat it for several." placeholder:"KEY=VALUE"`
}

// listedSeries is a series in the API's list.
type listedSeries struct {
	SourceName string
	Metric     string
	Kind       string
	Unit       *string
	Tags       map[string]string
	FirstSeen  *time.Time
	LastSeen   *time.Time
	Count      int64
}

// Run prints the series.
func (c *SeriesListCmd) Run(ctx context.Context, out *output.Writer) error {
	query := c.query()
	setParameter(query, "source", c.Source)
	for _, id := range c.SourceID {
		query.Add("sourceId", id.String())
	}
	if c.Node != nil {
		query.Set("nodeId", c.Node.String())
	}
	for _, metric := range c.Metric {
		query.Add("metric", metric)
	}
	for key, value := range c.Tag {
		query.Set("tag."+key, value)
	}
	list := seriesListing()
	list.path, list.query = "/api/live-data/series", query
	return list.print(ctx, out, &c.tenant)
}

func seriesListing() listing[listedSeries] {
	return listing[listedSeries]{
		noun: "series", nouns: "series",
		head: []string{"SOURCE", "METRIC", "KIND", "POINTS", "FIRST", "LAST", "UNIT", "TAGS"},
		row: func(s *listedSeries) []string {
			return []string{
				s.SourceName, s.Metric, s.Kind, strconv.FormatInt(s.Count, 10), timeText(s.FirstSeen), timeText(s.LastSeen),
				output.TextOr(s.Unit, "-"), tagText(s.Tags),
			}
		},
	}
}
