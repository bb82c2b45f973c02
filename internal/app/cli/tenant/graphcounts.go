package tenant

import (
	"context"
	"net/url"
	"strconv"

	"github.com/livegraph/livegraph/internal/app/output"
)

// GraphCountsCmd counts nodes and edges by type.
type GraphCountsCmd struct {
	tenant
	Limit int `help:"Maximum number of types of each kind, 1 to 100." default:"50"`
}

// typeCounts are the numbers of nodes or edges by type.
type typeCounts struct {
	Total, OtherTypes, OtherCount int64
	Types                         []struct {
		Type  string
		Count int64
	}
}

// rows returns the rows of a table: the types, the others together, and all.
func (c *typeCounts) rows(kind string) (rows [][]string) {
	for _, t := range c.Types {
		rows = append(rows, []string{kind, t.Type, strconv.FormatInt(t.Count, 10)})
	}
	if c.OtherTypes > 0 {
		others := "(" + strconv.FormatInt(c.OtherTypes, 10) + " others)"
		rows = append(rows, []string{kind, others, strconv.FormatInt(c.OtherCount, 10)})
	}
	return append(rows, []string{kind, "(all)", strconv.FormatInt(c.Total, 10)})
}

// Run prints the numbers, the largest first.
func (c *GraphCountsCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withReadRoutes(ctx, func(v *session) error {
		got, err := v.get(ctx, "/api/queries/counts", url.Values{"limit": {strconv.Itoa(c.Limit)}})
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		counts, err := decode[struct {
			Data struct{ Nodes, Edges typeCounts }
		}](got)
		if err != nil {
			return err
		}
		rows := append([][]string{{"KIND", "TYPE", "COUNT"}}, counts.Data.Nodes.rows("node")...)
		return output.Table(out, append(rows, counts.Data.Edges.rows("edge")...))
	})
}
