package mcpserver

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// defaultQueryPoints and maxQueryPoints are the numbers of points of a series in an answer.
	defaultQueryPoints = 50
	maxQueryPoints     = 200
	// defaultQuerySeries and maxQuerySeries are the numbers of series in an answer.
	defaultQuerySeries = 5
	maxQuerySeries     = 20
)

// selector are the arguments that select series.
type selector struct {
	SourceIDs []string          `json:"sourceIds,omitempty" jsonschema:"only series of these sources, by id"`
	Source    string            `json:"source,omitempty" jsonschema:"only series of the source with this name"`
	NodeID    string            `json:"nodeId,omitempty" jsonschema:"only series of sources that are linked to this node"`
	Metrics   []string          `json:"metrics,omitempty" jsonschema:"only these metrics"`
	Tags      map[string]string `json:"tags,omitempty" jsonschema:"only series with these tags"`
}

func (s *selector) set(query url.Values) {
	addAll(query, "sourceId", s.SourceIDs)
	setText(query, "source", s.Source)
	setText(query, "nodeId", s.NodeID)
	addAll(query, "metric", s.Metrics)
	for key, value := range s.Tags {
		query.Set("tag."+key, value)
	}
}

var seriesTool = &mcp.Tool{
	Name: "series", Title: "List series", Annotations: readOnly(),
	Description: "List the time series of the workspace with source, metric, tags, number of points and the times of " +
		"the oldest and the newest.",
}

type seriesInput struct {
	selector
	Limit  int `json:"limit,omitempty" jsonschema:"number of series, default 10, at most 50"`
	Offset int `json:"offset,omitempty" jsonschema:"number of series to skip"`
}

func (c *client) series(ctx context.Context, in seriesInput) (any, error) {
	query := pageQuery(in.Limit, in.Offset)
	in.set(query)
	return c.list(ctx, "/api/live-data/series", query, in.Offset, sourceCitation)
}

var queryTool = &mcp.Tool{
	Name: "query", Title: "Query live data", Annotations: readOnly(),
	Description: "Read points of time series. By default the averages of at most 50 buckets of the last hour. With " +
		"latest, only the newest point of each series; with raw, points as they were sent, thinned out.",
}

type queryInput struct {
	selector
	From        string   `json:"from,omitempty" jsonschema:"start of the range: RFC 3339 or relative such as -15m or -7d; default -1h"`
	To          string   `json:"to,omitempty" jsonschema:"end of the range, in the same formats; default now"`
	Aggregation []string `json:"aggregation,omitempty" jsonschema:"functions of each bucket: avg (default), min, max, sum, count, first, last, stddev, p50, p90, p95, p99, rate, delta"`
	Interval    string   `json:"interval,omitempty" jsonschema:"length of a bucket such as 5m or 1d; default: such that there are at most maxPoints"`
	GroupBy     string   `json:"groupBy,omitempty" jsonschema:"aggregate series together by sourceId, metric, tag.KEY, or none for all together"`
	Timezone    string   `json:"timezone,omitempty" jsonschema:"time zone of buckets such as Europe/Berlin"`
	Latest      bool     `json:"latest,omitempty" jsonschema:"only the newest point of each series"`
	Raw         bool     `json:"raw,omitempty" jsonschema:"points without aggregation"`
	MaxPoints   int      `json:"maxPoints,omitempty" jsonschema:"points of each series, default 50, at most 200"`
	Limit       int      `json:"limit,omitempty" jsonschema:"number of series, default 5, at most 20"`
	Offset      int      `json:"offset,omitempty" jsonschema:"number of series to skip"`
}

func (in *queryInput) parameters() url.Values {
	query := pageQuery(orDefault(in.Limit, defaultQuerySeries, maxQuerySeries), in.Offset)
	in.set(query)
	setText(query, "from", in.From)
	setText(query, "to", in.To)
	points := strconv.Itoa(orDefault(in.MaxPoints, defaultQueryPoints, maxQueryPoints))
	switch {
	case in.Latest:
		query.Set("latest", "true")
	case in.Raw:
		query.Set("downsample", "lttb")
		query.Set("maxPoints", points)
	default:
		aggregation := strings.Join(in.Aggregation, ",")
		if aggregation == "" {
			aggregation = "avg"
		}
		query.Set("aggregation", aggregation)
		setText(query, "groupBy", in.GroupBy)
		setText(query, "timezone", in.Timezone)
		if in.Interval != "" {
			query.Set("interval", in.Interval)
		} else {
			query.Set("interval", "auto")
			query.Set("maxPoints", points)
		}
	}
	return query
}

func orDefault(value, normal, most int) int {
	if value == 0 {
		return normal
	}
	return min(value, most)
}

func (c *client) query(ctx context.Context, in queryInput) (any, error) {
	r, err := c.get(ctx, "/api/live-data/query", in.parameters())
	if err != nil {
		return nil, err
	}
	var list []map[string]any
	if err := decode(r.Data, &list); err != nil {
		return nil, err
	}
	from := ""
	for i, series := range list {
		if cut := fewerPoints(series, maxAnswerBytes*2/3); cut != "" {
			from = cut
			list = list[:i+1] // continue with this series before the next ones
			break
		}
	}
	total := len(list)
	if r.Data, err = json.Marshal(list); err != nil {
		return nil, err
	}
	a, err := listAnswer(r, in.Offset, sourceCitation)
	if err != nil {
		return nil, err
	}
	if from != "" && len(a.Results) == total {
		a.Next = map[string]any{"offset": in.Offset + total - 1, "limit": 1, "from": from}
		a.Notes = append(a.Notes, "The last series has more points, and there may be more series: use longer buckets, fewer "+
			"functions or a shorter range, or go on with next.")
	}
	return a, nil
}

// fewerPoints removes the last points of a series if it is larger than size bytes. It returns the time of the first
// removed point, or "" if there is none.
func fewerPoints(series map[string]any, size int) (from string) {
	points, _ := series["points"].([]any)
	used := 0
	for i, point := range points {
		text, err := encode(point)
		if err != nil {
			return ""
		}
		if used += len(text) + 1; used <= size || i == 0 {
			continue
		}
		series["points"] = points[:i]
		if row, ok := point.([]any); ok && len(row) > 0 {
			from, _ = row[0].(string)
		}
		return from
	}
	return ""
}
