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

// QueryCmd queries points.
type QueryCmd struct {
	tenant
	Source      string            `help:"Only the source with this name." placeholder:"NAME"`
	SourceID    []uuid.UUID       `help:"Only these sources, by id." placeholder:"ID"`
	Metric      []string          `help:"Only this metric; repeat it for several." sep:"none" placeholder:"METRIC"`
	Tag         map[string]string `help:"Only series with this tag; repeat it for several." placeholder:"KEY=VALUE"`
	From        string            `help:"Start of the range: a time such as 2026-11-21T07:40:08Z, or an age such as 15m. Default: one hour before --to." placeholder:"TIME"`
	To          string            `help:"End of the range, in the same forms; default: now." placeholder:"TIME"`
	Aggregation []string          `help:"One or more of ${functions}, comma-separated. Default: raw points." placeholder:"NAME"`
	Interval    string            `help:"Length of the buckets of an aggregation, such as 5m, or auto." placeholder:"LENGTH"`
	Timezone    string            `help:"IANA time zone by which buckets are aligned." placeholder:"ZONE"`
	Fill        string            `help:"Buckets without points: none, null, previous, linear or a number." placeholder:"HOW"`
	GroupBy     string            `help:"Aggregate series together by sourceId, metric, tag.KEY (comma-separated) or none." placeholder:"FIELDS"`
	Latest      bool              `help:"Only the newest point of each series."`
	Limit       int               `help:"Maximum number of series, 1 to 10000; with --json, 1 to 100." default:"100"`
	PointsLimit int               `help:"Maximum number of points, 1 to 1000000." default:"10000"`
	Format      string            `help:"table, csv, ndjson, arrow or parquet." enum:"table,csv,ndjson,arrow,parquet" default:"table"`
}

// hiddenColumns are the columns of the CSV that a table omits: the table would be too
// wide, and the names contain the same information.
var hiddenColumns = []string{"sourceId", "kind"}

// Run prints the points.
func (c *QueryCmd) Run(ctx context.Context, out *output.Writer) error {
	query := c.parameters()
	if binary := c.Format == "arrow" || c.Format == "parquet"; binary && output.IsTerminal(out.Writer) {
		return fmt.Errorf("%s is not text: write it to a file, as in `livegraph query --format %s > points.%s`",
			c.Format, c.Format, c.Format)
	}
	return c.withReadRoutes(ctx, func(v *session) error {
		const path = "/api/live-data/query"
		switch {
		case c.JSON:
			_, err := v.do(ctx, "GET", path+"?"+query.Encode(), nil, out)
			return err
		case c.Format != "table":
			query.Set("format", c.Format)
			_, err := v.do(ctx, "GET", path+"?"+query.Encode(), nil, out)
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
		"source": c.Source, "from": apiTime(c.From), "to": apiTime(c.To), "aggregation": strings.Join(c.Aggregation, ","),
		"interval": c.Interval,
		"timezone": c.Timezone, "fill": c.Fill, "groupBy": c.GroupBy,
	} {
		setParameter(query, name, value)
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

// apiTime returns a time in the format of the API. It adds a minus to an age, which on the
// command line would begin a flag, and returns other times unchanged.
func apiTime(text string) string {
	if agePattern.MatchString(text) {
		return "-" + text
	}
	return text
}

var agePattern = regexp.MustCompile(`^[0-9]+[smhdw]$`)

// printPoints prints CSV as a table.
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
