package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/graphfile"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// importKeyLifetime bounds the validity of the key that an import creates for itself and
	// revokes at the end.
	importKeyLifetime = 24 * time.Hour
	// importRetryTimeout bounds the attempts to send a batch.
	importRetryTimeout   = 2 * time.Minute
	importReportInterval = 5 * time.Second
	revokeTimeout        = 5 * time.Second
)

// ImportCmd creates the nodes and edges of an exported file in a workspace.
type ImportCmd struct {
	target.Target `embed:""`
	File          string     `arg:"" help:"The file, as export writes it; - for the standard input."`
	Workspace     *uuid.UUID `help:"Workspace to import into; default: that of first-run.json." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID"`
	FromLine      int        `help:"Begin at this line, to continue an interrupted import." default:"1" placeholder:"N"`
	Check         bool       `help:"Only check the file."`
	JSON          bool       `help:"Print JSON."`
}

// Validate checks what tags cannot express.
func (c *ImportCmd) Validate() error {
	if c.FromLine < 1 {
		return errors.New("--from-line: must be at least 1")
	}
	return nil
}

// importSummary is the result of an import.
type importSummary struct {
	WorkspaceID uuid.UUID           `json:"workspaceId"`
	Lines       int                 `json:"lines"` // number of the last line that was processed
	Created     int64               `json:"created"`
	There       int64               `json:"there"`
	Different   int64               `json:"different"`
	Refused     int                 `json:"refused"`
	BadLines    []graphfile.BadLine `json:"badLines"` // the first refused lines
}

// Run checks the whole file and imports it only if every line is valid. It imports
// through the public API, with a key of its own.
func (c *ImportCmd) Run(ctx context.Context, out *output.Writer) error {
	file, remove, err := openImport(c.File)
	if err != nil {
		return err
	}
	defer remove()
	found, err := graphfile.Check(file)
	if err != nil {
		return err
	}
	if found.BadCount > 0 {
		return c.reportInvalid(out, found)
	}
	if c.Check {
		return c.reportValid(out, found)
	}
	if c.FromLine > 1 && c.FromLine > found.Lines {
		return fmt.Errorf("--from-line: must be at most %d, the number of lines of the file", found.Lines)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the file again: %w", err)
	}
	workspace, err := c.WorkspaceOrFirst(c.Workspace)
	if err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		return c.withClient(ctx, db, workspace, out, func(api *client.Client) error {
			done, err := graphfile.Import(ctx, api, file, graphfile.Options{
				FromLine: c.FromLine, Progress: c.progress(out, found),
			})
			return c.report(out, workspace, &done, err)
		})
	})
}

// openImport opens the file. It copies the standard input to a temporary file, because
// the input is read twice.
func openImport(path string) (file *os.File, remove func(), err error) {
	if path != "-" {
		file, err = os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		return file, func() { _ = file.Close() }, nil
	}
	file, err = os.CreateTemp("", "livegraph-import-*")
	if err != nil {
		return nil, nil, fmt.Errorf("creating a temporary file: %w", err)
	}
	remove = func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}
	_, err = io.Copy(file, os.Stdin)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("copying the standard input: %w", err)
	}
	return file, remove, nil
}

// withClient runs work with a client of the server. It creates a key for the client and
// revokes it when work returns.
func (c *ImportCmd) withClient(
	ctx context.Context, db *stores.DB, workspace uuid.UUID, out *output.Writer, work func(*client.Client) error,
) error {
	server, err := c.FindServer("")
	if err != nil {
		return err
	}
	transport, err := client.Local(server)
	if err != nil {
		return err
	}
	mode, err := keyMode(ctx, db, []uuid.UUID{workspace})
	if err != nil {
		return err
	}
	api, err := client.New(client.Options{
		BaseURL: server.URL, Workspace: workspace.String(), UserAgent: "livegraph-import", HTTP: transport,
		Retry: client.Retry{Total: importRetryTimeout, OnWait: c.waiting(out)},
	})
	if err != nil {
		return err
	}
	defer api.Close()
	expires := time.Now().Add(importKeyLifetime)
	key, text, err := keyadmin.Create(ctx, db, access.NewKey{
		Name: "import", Mode: mode,
		Scopes:     []string{"read:nodes", "write:nodes", "read:edges", "write:edges"},
		Workspaces: []uuid.UUID{workspace}, CreatedBy: trail.Author, ExpiresAt: &expires,
	})
	if err != nil {
		return err
	}
	defer func() {
		revokeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTimeout)
		defer cancel()
		_, _ = db.RevokeKey(revokeCtx, key.ID) // it expires anyway
	}()
	if err := api.SetKey(text.Reveal()); err != nil {
		return err
	}
	return work(api)
}

// waiting returns a function that prints, at most every importReportInterval, that the
// import waits before a retry.
func (c *ImportCmd) waiting(out *output.Writer) func(error, time.Duration) {
	var last time.Time
	return func(err error, wait time.Duration) {
		if now := time.Now(); !c.JSON && now.Sub(last) > importReportInterval {
			last = now
			_, _ = fmt.Fprintf(out, "waiting %s: %v\n", wait.Round(time.Millisecond), err)
		}
	}
}

// progress returns a function that prints the progress of the import at most every
// importReportInterval.
func (c *ImportCmd) progress(out *output.Writer, found graphfile.CheckResult) func(*graphfile.ImportResult) {
	last, total := time.Now(), found.Nodes+found.Edges
	return func(i *graphfile.ImportResult) {
		if now := time.Now(); !c.JSON && now.Sub(last) > importReportInterval {
			last = now
			_, _ = fmt.Fprintf(
				out, "line %d: %d of %d created, %d there already\n", i.Line, i.Created, total, i.Existing+i.Different,
			)
		}
	}
}

// reportInvalid prints the invalid lines of the file and returns an error.
func (c *ImportCmd) reportInvalid(out *output.Writer, found graphfile.CheckResult) error {
	if c.JSON {
		if err := output.JSON(out, importSummary{Refused: found.BadCount, BadLines: found.Bad}); err != nil {
			return err
		}
	} else if err := printLines(out, found.Bad, found.BadCount); err != nil {
		return err
	}
	return fmt.Errorf("nothing was imported: %s no good", plural.CountOf(found.BadCount, "line is", "lines are"))
}

func (c *ImportCmd) reportValid(out *output.Writer, found graphfile.CheckResult) error {
	if c.JSON {
		return output.JSON(out, map[string]int64{"nodes": found.Nodes, "edges": found.Edges})
	}
	_, err := fmt.Fprintf(
		out, "the file is good: %s and %s\n", plural.Count(found.Nodes, "node"), plural.Count(found.Edges, "edge"),
	)
	return err
}

func printLines(out *output.Writer, lines []graphfile.BadLine, count int) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, output.Printable(line.String())); err != nil {
			return err
		}
	}
	if more := count - len(lines); more > 0 {
		_, err := fmt.Fprintf(out, "and %d more\n", more)
		return err
	}
	return nil
}

// report prints the result of the import.
func (c *ImportCmd) report(out *output.Writer, workspace uuid.UUID, done *graphfile.ImportResult, failure error) error {
	var err error
	if c.JSON {
		err = output.JSON(out, importSummary{
			WorkspaceID: workspace, Lines: done.Line, Created: done.Created, There: done.Existing, Different: done.Different,
			Refused: done.RefusedCount, BadLines: append([]graphfile.BadLine{}, done.Refused...),
		})
	} else {
		if err = printLines(out, done.Refused, done.RefusedCount); err == nil {
			_, err = fmt.Fprintf(
				out,
				"%d nodes and edges created, %d there already, %d there already with another content and left so, %d refused\n",
				done.Created, done.Existing, done.Different, done.RefusedCount,
			)
		}
	}
	switch {
	case failure != nil && done.Line > 0:
		return fmt.Errorf("%w; continue with --from-line %d", failure, done.Line+1)
	case failure != nil:
		return failure
	case done.RefusedCount > 0:
		return errors.New(plural.CountOf(done.RefusedCount, "line was", "lines were") + " refused")
	}
	return err
}
