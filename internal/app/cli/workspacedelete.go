package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// deletionPoll is the interval at which the progress of a deletion is read.
	deletionPoll = 250 * time.Millisecond
	// deletionHint is the time without progress after which a hint about the required role
	// is printed.
	deletionHint = 10 * time.Second
)

// WorkspacesDeleteCmd deletes a workspace.
type WorkspacesDeleteCmd struct {
	target.Target `embed:""`
	ID            uuid.UUID `arg:"" help:"The workspace's id."`
	Yes           bool      `help:"Do not ask. Required where there is no terminal to ask on."`
	Wait          bool      `help:"Wait until it is removed from all stores; otherwise the server does it in the background." default:"true" negatable:""`
	JSON          bool      `help:"Print JSON."`
}

// Run closes the workspace to every key. A server with the role points then removes its
// contents from all stores, and Run shows the progress. Running the command again shows
// the progress again. A deleted workspace cannot be restored, and its id is never reused.
func (c *WorkspacesDeleteCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		if err := c.confirm(ctx, db, out); err != nil {
			return err
		}
		if err := db.DeleteWorkspace(ctx, c.ID, reply.NewRequestID()); err != nil {
			return err
		}
		if !c.Wait {
			return c.printStarted(ctx, db, out)
		}
		return c.follow(ctx, db, out)
	})
}

var errNotConfirmed = errors.New("nothing was deleted")

// confirm asks for confirmation, unless --yes is set or the deletion has already started.
func (c *WorkspacesDeleteCmd) confirm(ctx context.Context, db *stores.DB, out *output.Writer) error {
	found, err := db.WorkspacesByID(ctx, []uuid.UUID{c.ID})
	if err != nil || len(found) == 0 || c.Yes {
		return err // DeleteWorkspace refuses an unknown workspace, and continues a deletion
	}
	if !output.IsTerminal(os.Stdin) || !output.IsTerminal(out.Writer) {
		return errors.New("deleting a workspace cannot be undone: pass --yes, because there is no terminal to ask on")
	}
	w := &found[0]
	_, _ = fmt.Fprintf(
		out,
		"Workspace %q has %s with %s, and its graph. All of it is removed and cannot be restored.\nType its id to "+
			"delete it: ",
		output.Printable(w.Name), plural.Count(w.Sources, "source"), plural.CountOf(w.Series, "series", "series"),
	)
	return confirmed(os.Stdin, w.ID)
}

// confirmed reads a line and compares it with the id.
func confirmed(from io.Reader, id uuid.UUID) error {
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(line) != id.String() {
		return errNotConfirmed
	}
	return nil
}

func (c *WorkspacesDeleteCmd) printStarted(ctx context.Context, db *stores.DB, out *output.Writer) error {
	if c.JSON {
		d, err := db.WorkspaceDeletion(ctx, c.ID)
		if err != nil {
			return err
		}
		return output.JSON(out, deletionAnswer(d))
	}
	_, err := fmt.Fprintf(out, "workspace %s is closed; the server removes what is in it\n", c.ID)
	return err
}

// follow shows the progress until all is removed.
func (c *WorkspacesDeleteCmd) follow(ctx context.Context, db *stores.DB, out *output.Writer) error {
	shown, changed := "", time.Now()
	for {
		d, err := db.WorkspaceDeletion(ctx, c.ID)
		if err != nil {
			return err
		}
		if d.RemovedAt != nil {
			return c.printDone(d, out)
		}
		if text := progressText(d); text != shown {
			shown, changed = text, time.Now()
			c.printLine(out, text)
		} else if time.Since(changed) > deletionHint {
			changed = time.Now()
			c.printLine(out, "no progress: a server with the role points does the work, and continues it whenever one runs")
		}
		select {
		case <-ctx.Done():
			c.printLine(out, "the server continues the deletion; the same command shows its progress")
			return ctx.Err()
		case <-time.After(deletionPoll):
		}
	}
}

func (c *WorkspacesDeleteCmd) printLine(out *output.Writer, line string) {
	if !c.JSON && line != "" {
		_, _ = fmt.Fprintln(out, line)
	}
}

// progressText returns the remaining work of each store.
func progressText(d jobs.WorkspaceDeletion) string {
	var parts []string
	for _, p := range d.Progress {
		switch {
		case p.Done:
			parts = append(parts, p.Store+" done")
		case p.Found == 0:
			parts = append(parts, p.Store+" to do")
		default:
			parts = append(parts, fmt.Sprintf("%s %d of %d left", p.Store, p.Left, p.Found))
		}
	}
	text := strings.Join(parts, ", ")
	if d.Problem != nil {
		text += " (waiting: " + output.Printable(*d.Problem) + ")"
	}
	return text
}

func (c *WorkspacesDeleteCmd) printDone(d jobs.WorkspaceDeletion, out *output.Writer) error {
	if c.JSON {
		return output.JSON(out, deletionAnswer(d))
	}
	var rows int64
	for _, p := range d.Progress {
		rows += p.Found
	}
	text := "workspace %s is deleted: %s removed\n"
	if d.FinishedAt == nil {
		text = "workspace %s is deleted: %s removed; in a few minutes the server checks again for data that was " +
			"written meanwhile\n"
	}
	_, err := fmt.Fprintf(out, text, c.ID, plural.Count(rows, "row"))
	return err
}

// deletedWorkspace is what --json prints.
type deletedWorkspace struct {
	jobs.WorkspaceDeletion
	Deleted bool `json:"deleted"` // false: the server is still removing it
}

func deletionAnswer(d jobs.WorkspaceDeletion) deletedWorkspace {
	if d.Progress == nil {
		d.Progress = []jobs.StoreProgress{}
	}
	return deletedWorkspace{WorkspaceDeletion: d, Deleted: d.RemovedAt != nil}
}
