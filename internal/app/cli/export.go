package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/graphfile"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/durable"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/postgres/topology"
)

// ExportCmd writes a workspace's graph as NDJSON.
type ExportCmd struct {
	target.Target `embed:""`
	Workspace     *uuid.UUID `help:"Workspace to export; default: that of first-run.json." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID"`
	Output        string     `help:"File to write; it appears when it is complete. Default: the standard output." short:"o" type:"path" placeholder:"FILE"`
	JSON          bool       `help:"Print JSON; needs --output."`
}

// Validate checks what tags cannot express.
func (c *ExportCmd) Validate() error {
	if c.JSON && c.Output == "" {
		return errors.New("--json: needs --output, because the export is written to the standard output")
	}
	return nil
}

// exportSummary is the result of an export.
type exportSummary struct {
	WorkspaceID uuid.UUID `json:"workspaceId"`
	Output      string    `json:"output"`
	Sequence    int64     `json:"sequence"`
	Nodes       int64     `json:"nodes"`
	Edges       int64     `json:"edges"`
}

// Run writes a consistent snapshot of the graph.
func (c *ExportCmd) Run(ctx context.Context, out *output.Writer) error {
	workspace, err := c.WorkspaceOrFirst(c.Workspace)
	if err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		if c.Output == "" {
			_, err := exportTo(ctx, db, workspace, out)
			return err
		}
		var extent topology.Extent
		err := durable.Write(c.Output, 0o600, func(file io.Writer) (err error) {
			extent, err = exportTo(ctx, db, workspace, file)
			return err
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return output.JSON(out, exportSummary{workspace, c.Output, extent.Sequence, extent.Nodes, extent.Edges})
		}
		_, err = fmt.Fprintf(out, "exported %s and %s, up to sequence %d, to %s\n",
			plural.Count(extent.Nodes, "node"), plural.Count(extent.Edges, "edge"), extent.Sequence, c.Output)
		return err
	})
}

func exportTo(ctx context.Context, db *stores.DB, workspace uuid.UUID, w io.Writer) (topology.Extent, error) {
	buffered := bufio.NewWriterSize(w, 1<<16)
	e := &exporter{workspace: workspace, out: buffered}
	if err := db.ExportGraph(ctx, workspace, e); err != nil {
		return e.extent, err
	}
	return e.extent, buffered.Flush()
}

// exporter writes the lines of the file.
type exporter struct {
	workspace uuid.UUID
	out       *bufio.Writer
	extent    topology.Extent
}

func (e *exporter) Begin(extent topology.Extent) error {
	e.extent = extent
	return e.writeLine("graph", graphfile.Header{
		Format: graphfile.Format, WorkspaceID: e.workspace.String(), ExportedAt: time.Now().UTC().Format(time.RFC3339),
		Sequence: extent.Sequence, Nodes: extent.Nodes, Edges: extent.Edges,
	})
}

func (e *exporter) Node(n *graph.Node) error { return e.writeLine("node", graphjson.OfNode(n)) }

func (e *exporter) Edge(edge *graph.Edge) error { return e.writeLine("edge", graphjson.OfEdge(edge)) }

func (e *exporter) writeLine(member string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing a line: %w", err)
	}
	text := jsontext.Value(`{"` + member + `":`)
	text = append(append(text, raw...), '}', '\n')
	_, err = e.out.Write(text)
	return err
}
