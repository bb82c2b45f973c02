package tenant

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// GraphCmd groups the commands that read a graph and undo or redo its commands.
type GraphCmd struct {
	Nodes     GraphNodesCmd     `cmd:"" help:"List nodes by type and name."`
	Node      GraphNodeCmd      `cmd:"" help:"Show a node with its edges."`
	Neighbors GraphNeighborsCmd `cmd:"" help:"List the neighbors of a node."`
	Path      GraphPathCmd      `cmd:"" help:"List the shortest or cheapest paths between two nodes."`
	Subgraph  GraphSubgraphCmd  `cmd:"" help:"List the nodes around nodes, and the edges between them."`
	Match     GraphMatchCmd     `cmd:"" help:"List the parts of the graph that match a pattern, a file of JSON."`
	Counts    GraphCountsCmd    `cmd:"" help:"Count nodes by entity type and edges by relation type."`
	Analyze   GraphAnalyzeCmd   `cmd:"" help:"Compute degrees, PageRank, components or communities of all nodes."`
	Analyses  GraphAnalysesCmd  `cmd:"" help:"List the analyses of the graph, newest first."`
	History   GraphHistoryCmd   `cmd:"" help:"List the changes of a node, or of the whole graph, newest first."`
	Undo      GraphUndoCmd      `cmd:"" help:"Undo a command, by default the workspace's last."`
	Redo      GraphRedoCmd      `cmd:"" help:"Redo a command that was undone, by default the last."`
	Purge     GraphPurgeCmd     `cmd:"" help:"Remove a deleted node's content from the graph and its history permanently."`
}

// GraphNodesCmd lists nodes.
type GraphNodesCmd struct {
	tenant
	paged
	Name       string   `help:"Only those whose name contains this text." placeholder:"TEXT"`
	EntityType []string `help:"Only those of these types: ${entityTypes}." placeholder:"TYPE"`
	Sort       string   `help:"Comma-separated fields, a leading - for descending: createdAt, updatedAt, name, entityType, version." default:"createdAt"`
}

// Run prints the nodes.
func (c *GraphNodesCmd) Run(ctx context.Context, out *output.Writer) error {
	query := c.query()
	query.Set("sort", c.Sort)
	setParameter(query, "name", c.Name)
	setParameter(query, "entityType", strings.Join(c.EntityType, ","))
	list := listing[graphjson.Node]{
		path: "/api/queries/nodes", query: query, noun: "node", head: nodeHeader(), row: nodeRow,
	}
	return list.print(ctx, out, &c.tenant)
}

func nodeHeader() []string { return []string{"NAME", "TYPE", "ID", "VERSION", "UPDATED"} }

func nodeRow(n *graphjson.Node) []string {
	return []string{
		n.Name, n.EntityType, n.ID.String(), strconv.FormatInt(n.Version, 10), n.UpdatedAt.Format(time.RFC3339),
	}
}

// moment has the flags of commands that read the graph as of a moment.
type moment struct {
	AsOf         string `help:"Read the graph as of this time, in RFC 3339." placeholder:"TIME" xor:"moment"`
	AsOfSequence string `help:"Read the graph as of the change with this sequence, as the history names it." placeholder:"N" xor:"moment"`
}

func (m *moment) addTo(query url.Values) {
	setParameter(query, "asOf", m.AsOf)
	setParameter(query, "asOfSequence", m.AsOfSequence)
}

// GraphNodeCmd shows a node.
type GraphNodeCmd struct {
	tenant
	moment
	ID uuid.UUID `arg:"" help:"The node."`
}

// Run prints the node and, if it is the current one, its first edges.
func (c *GraphNodeCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withReadRoutes(ctx, func(v *session) error {
		query := url.Values{}
		c.addTo(query)
		got, err := v.get(ctx, "/api/queries/nodes/"+c.ID.String(), query)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		node, err := decode[struct{ Data graphjson.Node }](got)
		if err != nil {
			return err
		}
		n := &node.Data
		if err := output.Table(out, [][]string{nodeHeader(), nodeRow(n)}); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(
			out, "description: %s\nproperties: %s\n", output.Printable(output.TextOr(n.Description, "-")),
			output.Printable(string(n.Properties)),
		); err != nil || len(query) > 0 {
			return err
		}
		if got, err = v.get(ctx, "/api/queries/edges", url.Values{"nodeId": {c.ID.String()}, "limit": {"50"}}); err != nil {
			return err
		}
		edges, err := decode[page[graphjson.Edge]](got)
		if err != nil {
			return err
		}
		edges.Meta.NextCursor = "" // this command has no flag for a cursor
		list := listing[graphjson.Edge]{noun: "edge", head: []string{"EDGE", "RELATION", "FROM", "TO"},
			row: func(e *graphjson.Edge) []string {
				return []string{e.ID.String(), e.RelationType, e.SourceID.String(), e.TargetID.String()}
			}}
		return list.show(out, &edges)
	})
}

// GraphNeighborsCmd lists the neighbors of a node.
type GraphNeighborsCmd struct {
	tenant
	paged
	moment
	ID           uuid.UUID `arg:"" help:"The node."`
	Depth        int       `help:"Maximum distance in edges, 1 to 3." default:"1"`
	Direction    string    `help:"Follow edges out, in or both ways." enum:"out,in,both" default:"both"`
	RelationType []string  `help:"Follow only edges of this type; repeat it for several." sep:"none" placeholder:"TYPE"`
}

// Run prints the neighbors, the nearest first.
func (c *GraphNeighborsCmd) Run(ctx context.Context, out *output.Writer) error {
	query := c.query()
	query.Set("depth", strconv.Itoa(c.Depth))
	query.Set("direction", c.Direction)
	c.addTo(query)
	for _, relation := range c.RelationType {
		query.Add("relationType", relation)
	}
	list := listing[neighbor]{
		path: "/api/queries/nodes/" + c.ID.String() + "/neighbors", query: query, noun: "node",
		head: append([]string{"DEPTH", "RELATION"}, nodeHeader()...),
		row: func(n *neighbor) []string {
			var relations []string
			for _, e := range n.Edges {
				relations = append(relations, e.RelationType)
			}
			return append([]string{strconv.Itoa(n.Depth), strings.Join(relations, ",")}, nodeRow(&n.Node)...)
		},
	}
	return list.print(ctx, out, &c.tenant)
}

// neighbor is a node that is reachable from another.
type neighbor struct {
	Node  graphjson.Node
	Depth int
	Edges []graphjson.Edge
}

// GraphHistoryCmd lists changes.
type GraphHistoryCmd struct {
	tenant
	paged
	ID *uuid.UUID `arg:"" optional:"" help:"Only changes of this node and of its edges."`
}

// Run prints the changes.
func (c *GraphHistoryCmd) Run(ctx context.Context, out *output.Writer) error {
	query := c.query()
	if c.ID != nil {
		query.Set("nodeId", c.ID.String())
	}
	list := listing[graphjson.Change]{
		path: "/api/queries/history", query: query, noun: "change",
		head: []string{"SEQUENCE", "AT", "TYPE", "WHAT", "ACTOR", "COMMAND"},
		row: func(change *graphjson.Change) []string {
			return []string{
				strconv.FormatInt(change.Sequence, 10), change.At.Format(time.RFC3339), change.Type, changeSubject(change),
				change.ActorID.String(), change.CommandID.String(),
			}
		},
	}
	return list.print(ctx, out, &c.tenant)
}

// changeSubject returns a description of the nodes and edges that a change affected.
func changeSubject(c *graphjson.Change) string {
	switch {
	case c.Node != nil && c.Cascade != nil:
		return fmt.Sprintf("%s and %s", c.Node.Name, plural.Count(c.Cascade.Count, "edge"))
	case c.Node != nil:
		return c.Node.Name
	case c.Edge != nil:
		return fmt.Sprintf("%s: %s -> %s", c.Edge.RelationType, c.Edge.SourceID, c.Edge.TargetID)
	}
	return plural.Count(len(c.Steps), "step")
}

// GraphUndoCmd undoes a command.
type GraphUndoCmd struct {
	tenant
	Command *uuid.UUID `help:"This command, as the history names it." placeholder:"ID"`
}

// Run undoes the command and prints the result.
func (c *GraphUndoCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.undoOrRedo(ctx, out, graph.TypeUndo, c.Command)
}

// GraphRedoCmd redoes a command that was undone.
type GraphRedoCmd struct {
	tenant
	Command *uuid.UUID `help:"This command, as the history names it." placeholder:"ID"`
}

// Run redoes the command and prints the result.
func (c *GraphRedoCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.undoOrRedo(ctx, out, graph.TypeRedo, c.Command)
}

// undoOrRedo undoes or redoes a command. If command is nil, it is the workspace's last.
func (c *tenant) undoOrRedo(ctx context.Context, out *output.Writer, kind graph.Type, command *uuid.UUID) error {
	payload := map[string]any{"scope": "workspace"}
	if command != nil {
		payload = map[string]any{"commandId": command}
	}
	return c.withGraphRoutes(ctx, func(v *session) error {
		got, err := v.post(ctx, "/api/commands/execute", map[string]any{"type": kind, "payload": payload})
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		done, err := decode[struct {
			Data struct {
				Sequence int64
				Target   struct {
					CommandID uuid.UUID
					Type      string
				}
				Affected struct{ Counts struct{ Nodes, Edges int64 } }
			}
		}](got)
		if err != nil {
			return err
		}
		d := done.Data
		_, err = fmt.Fprintf(out, "%s of %s %s is change %d: %s, %s\n", strings.ToLower(string(kind)), d.Target.Type,
			d.Target.CommandID, d.Sequence, plural.Count(d.Affected.Counts.Nodes, "node"),
			plural.Count(d.Affected.Counts.Edges, "edge"))
		return err
	})
}
