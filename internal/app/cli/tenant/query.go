package tenant

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// QueryCmd asks for points.
type QueryCmd struct {
	tenant
	Source      string            `help:"Of the source of this name." placeholder:"NAME"`
	SourceID    []uuid.UUID       `help:"Of these sources, by id." placeholder:"ID"`
	Metric      []string          `help:"Of this metric; repeat it for several." sep:"none" placeholder:"METRIC"`
	Tag         map[string]string `help:"Of series with this tag; repeat it for several." placeholder:"KEY=VALUE"`
	From        string            `help:"From then on: a time such as 2026-11-21T07:40:08Z, or an age such as 15m. Default: one hour before --to." placeholder:"TIME"`
	To          string            `help:"Up to then, in the same forms; default: now." placeholder:"TIME"`
	Aggregation []string          `help:"avg, min, max, sum, count, first, last, stddev, p50, p90, p95, p99, rate or delta; several by comma. Default: the points themselves." placeholder:"NAME"`
	Interval    string            `help:"Length of the buckets of an aggregation, such as 5m, or auto." placeholder:"LENGTH"`
	Timezone    string            `help:"IANA time zone by which buckets are aligned." placeholder:"ZONE"`
	Fill        string            `help:"Buckets without points: none, null, previous, linear or a number." placeholder:"HOW"`
	GroupBy     string            `help:"Aggregate series together by sourceId, metric, tag.KEY (several by comma) or none." placeholder:"FIELDS"`
	Latest      bool              `help:"Only the newest point of each series."`
	Limit       int               `help:"Series at most, 1 to 10000; with --json to 100." default:"100"`
	PointsLimit int               `help:"Points at most, 1 to 1000000." default:"10000"`
	Format      string            `help:"table, csv or ndjson." enum:"table,csv,ndjson" default:"table"`
}

// hiddenColumns are those of CSV that a table does without: it would be too wide, and
// the names say the same.
var hiddenColumns = []string{"sourceId", "kind"}

// Run prints the points.
func (c *QueryCmd) Run(ctx context.Context, out *output.Writer) error {
	query := c.parameters()
	return c.reads(ctx, func(v *visit) error {
		const path = "/api/live-data/query"
		switch {
		case c.JSON:
			_, err := v.ask(ctx, "GET", path+"?"+query.Encode(), nil, out)
			return err
		case c.Format != "table":
			query.Set("format", c.Format)
			_, err := v.ask(ctx, "GET", path+"?"+query.Encode(), nil, out)
			return err
		}
		query.Set("format", "csv")
		got, err := v.get(ctx, path, query)
		if err != nil {
			return err
		}
		return printPoints(out, got.body.Bytes())
	})
}

func (c *QueryCmd) parameters() url.Values {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}, "pointsLimit": {strconv.Itoa(c.PointsLimit)}}
	for name, value := range map[string]string{
		"source": c.Source, "from": sinceThen(c.From), "to": sinceThen(c.To), "aggregation": strings.Join(c.Aggregation, ","),
		"interval": c.Interval,
		"timezone": c.Timezone, "fill": c.Fill, "groupBy": c.GroupBy,
	} {
		setText(query, name, value)
	}
	for _, id := range c.SourceID {
		query.Add("sourceId", id.String())
	}
	for _, metric := range c.Metric {
		query.Add("metric", metric)
	}
	for key, value := range c.Tag {
		query.Set("tag."+key, value)
	}
	if c.Latest {
		query.Set("latest", "true")
	}
	return query
}

// sinceThen returns an age as the interface has it, with a minus before it, which would be
// a flag here. Other times stay as they are.
func sinceThen(text string) string {
	if age.MatchString(text) {
		return "-" + text
	}
	return text
}

var age = regexp.MustCompile(`^[0-9]+[smhdw]$`)

// printPoints prints rows of CSV as a table.
func printPoints(out *output.Writer, text []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if len(rows) < 2 {
		_, err := fmt.Fprintln(out, "no points; widen --from and --to, or see `livegraph sources list`")
		return err
	}
	var keep []int
	for i, name := range rows[0] {
		if !slices.Contains(hiddenColumns, name) {
			keep = append(keep, i)
		}
	}
	for i, row := range rows {
		shown := make([]string, len(keep))
		for to, from := range keep {
			shown[to] = row[from]
			if i == 0 {
				shown[to] = strings.ToUpper(strings.TrimSuffix(row[from], "Name")) // sourceName
			}
		}
		rows[i] = shown
	}
	return output.Table(out, rows)
}
