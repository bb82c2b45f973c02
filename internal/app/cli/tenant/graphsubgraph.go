package tenant

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// GraphSubgraphCmd lists the nodes around nodes, and the edges between them.
type GraphSubgraphCmd struct {
	tenant
	moment
	IDs          []uuid.UUID `arg:"" name:"id" help:"The nodes, up to 20."`
	Depth        int         `help:"Maximum distance in edges, 0 to 3." default:"1"`
	Limit        int         `help:"Maximum number of nodes, up to 500." default:"100"`
	Direction    string      `help:"Follow edges out, in or both ways." enum:"out,in,both" default:"both"`
	RelationType []string    `help:"Only edges of this type; repeat it for several." sep:"none" placeholder:"TYPE"`
	EntityType   []string    `help:"Only nodes of these types: ${entityTypes}." placeholder:"TYPE"`
}

// subgraph is a set of nodes with the edges between them.
type subgraph struct {
	Nodes []struct {
		Node  graphjson.Node
		Depth int
	}
	Edges     []graphjson.Edge
	Truncated bool
}

// Run prints the nodes, the nearest first, and the edges.
func (c *GraphSubgraphCmd) Run(ctx context.Context, out *output.Writer) error {
	query := url.Values{
		"depth": {strconv.Itoa(c.Depth)}, "limit": {strconv.Itoa(c.Limit)}, "direction": {c.Direction},
		"relationType": c.RelationType, "entityType": c.EntityType,
	}
	c.addTo(query)
	for _, id := range c.IDs {
		query.Add("nodeId", id.String())
	}
	return c.withReadRoutes(ctx, func(v *session) error {
		got, err := v.get(ctx, "/api/queries/subgraph", query)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		found, err := decode[struct{ Data subgraph }](got)
		if err != nil {
			return err
		}
		return found.Data.print(out)
	})
}

func (s *subgraph) print(out *output.Writer) error {
	nodes := [][]string{append([]string{"DEPTH"}, nodeHeader()...)}
	for i := range s.Nodes {
		nodes = append(nodes, append([]string{strconv.Itoa(s.Nodes[i].Depth)}, nodeRow(&s.Nodes[i].Node)...))
	}
	edges := [][]string{{"EDGE", "RELATION", "FROM", "TO"}}
	for _, e := range s.Edges {
		edges = append(edges, []string{e.ID.String(), e.RelationType, e.SourceID.String(), e.TargetID.String()})
	}
	if err := output.Table(out, nodes); err != nil {
		return err
	}
	if err := output.Table(out, edges); err != nil {
		return err
	}
	_, err := fmt.Fprintf(
		out, "%s, %s%s\n", plural.Count(len(s.Nodes), "node"), plural.Count(len(s.Edges), "edge"), moreNote(s.Truncated),
	)
	return err
}

// moreNote returns the end of a summary of results that a limit of a search may have cut.
func moreNote(truncated bool) string {
	if truncated {
		return "; there may be more"
	}
	return ""
}
