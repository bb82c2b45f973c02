package tenant

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// maxPatternFile is the maximum size of a pattern, that of a body of the API.
const maxPatternFile = 1 << 20

// GraphMatchCmd lists the matches of a pattern.
type GraphMatchCmd struct {
	tenant
	File string `arg:"" help:"File with the pattern, as POST /api/queries/patterns accepts it; -: standard input."`
}

// patternMatches are the matches of a pattern.
type patternMatches struct {
	Matches []struct {
		Nodes map[string]uuid.UUID
		Count int
	}
	Nodes     []graphjson.Node
	Total     int
	Truncated bool
}

// Run prints a row for each match, with the names of its nodes.
func (c *GraphMatchCmd) Run(ctx context.Context, out *output.Writer) error {
	text, err := readInput(c.File, maxPatternFile+1)
	if err != nil {
		return err
	}
	var body json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return fmt.Errorf("%s is not JSON: %w", c.File, err)
	}
	return c.withReadRoutes(ctx, func(v *session) error {
		got, err := v.post(ctx, "/api/queries/patterns", body)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		found, err := decode[struct{ Data patternMatches }](got)
		if err != nil {
			return err
		}
		return found.Data.print(out)
	})
}

func (m *patternMatches) print(out *output.Writer) error {
	titles := make(map[uuid.UUID]string, len(m.Nodes))
	for i := range m.Nodes {
		titles[m.Nodes[i].ID] = m.Nodes[i].Name
	}
	var names []string
	if len(m.Matches) > 0 {
		names = slices.Sorted(maps.Keys(m.Matches[0].Nodes))
	}
	head := slices.Clone(names)
	if len(m.Matches) > 0 && m.Matches[0].Count > 0 {
		head = append(head, "COUNT")
	}
	table := [][]string{head}
	for _, match := range m.Matches {
		var row []string
		for _, name := range names {
			row = append(row, cmp.Or(titles[match.Nodes[name]], match.Nodes[name].String()))
		}
		if match.Count > 0 {
			row = append(row, strconv.Itoa(match.Count))
		}
		table = append(table, row)
	}
	if len(m.Matches) > 0 {
		if err := output.Table(out, table); err != nil {
			return err
		}
	}
	total := plural.CountOf(m.Total, "match", "matches")
	_, err := fmt.Fprintf(out, "%d of %s%s\n", len(m.Matches), total, moreNote(m.Truncated))
	return err
}
