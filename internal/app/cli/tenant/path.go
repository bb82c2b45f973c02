package tenant

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/app/output"
)

// GraphPathCmd lists the shortest paths between two nodes.
type GraphPathCmd struct {
	tenant
	From         uuid.UUID `arg:"" help:"The node where paths begin."`
	To           uuid.UUID `arg:"" help:"The node where paths end."`
	MaxDepth     int       `help:"Maximum number of edges of a path, 1 to 10." default:"6"`
	Limit        int       `help:"Maximum number of paths, 1 to 20." default:"1"`
	Direction    string    `help:"Follow edges out, in or both ways." enum:"out,in,both" default:"both"`
	RelationType []string  `help:"Follow only edges of this type; repeat it for several." sep:"none" placeholder:"TYPE"`
	EntityType   []string  `help:"Only through nodes of these types: ${entityTypes}." placeholder:"TYPE"`
	Weight       string    `help:"Property of edges that is their cost; the cheapest paths are listed." placeholder:"NAME"`
}

// path is a path between two nodes.
type path struct {
	Nodes  []graphjson.Node
	Edges  []graphjson.Edge
	Length int
	Cost   *float64
}

// Run prints the paths, the shortest or cheapest first.
func (c *GraphPathCmd) Run(ctx context.Context, out *output.Writer) error {
	query := url.Values{
		"from": {c.From.String()}, "to": {c.To.String()}, "maxDepth": {strconv.Itoa(c.MaxDepth)},
		"limit": {strconv.Itoa(c.Limit)}, "direction": {c.Direction}, "relationType": c.RelationType,
	}
	setParameter(query, "entityType", strings.Join(c.EntityType, ","))
	setParameter(query, "weight", c.Weight)
	list := listing[path]{
		path: "/api/queries/paths", query: query, noun: "path", head: []string{"LENGTH", "COST", "PATH"}, row: pathRow,
		truncated: "the search reached its limit: other paths may be shorter, cheaper or missing",
	}
	return list.print(ctx, out, &c.tenant)
}

func pathRow(p *path) []string {
	cost := "-"
	if p.Cost != nil {
		cost = strconv.FormatFloat(*p.Cost, 'g', -1, 64)
	}
	var text strings.Builder
	for i := range p.Nodes {
		text.WriteString(p.Nodes[i].Name)
		if i == len(p.Edges) {
			break
		}
		if e := &p.Edges[i]; e.SourceID == p.Nodes[i].ID {
			text.WriteString(" -[" + e.RelationType + "]-> ")
		} else {
			text.WriteString(" <-[" + e.RelationType + "]- ")
		}
	}
	return []string{strconv.Itoa(p.Length), cost, text.String()}
}
