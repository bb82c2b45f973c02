package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// ReindexCmd requests a rebuild of the search index.
type ReindexCmd struct {
	target.Target `embed:""`
	Wait          bool `help:"Show progress until the index is complete."`
	JSON          bool `help:"Print JSON; with --wait, a line for each change of the progress."`
}

// Run requests a new index, which a process with role embeddings builds. Ctrl-C stops
// the display, not the build.
func (c *ReindexCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		r, err := db.RequestReindex(ctx, trail.Operator())
		if err != nil {
			return err
		}
		if c.Wait {
			return c.follow(ctx, out, db, r)
		}
		if c.JSON {
			return output.JSON(out, r)
		}
		_, err = fmt.Fprintf(
			out,
			"re-index %s is %s; a server with role embeddings builds it, and searches use the previous index until it "+
				"is complete\n",
			r.ID, r.State,
		)
		return err
	})
}

// follow shows the progress until the index is built.
func (c *ReindexCmd) follow(ctx context.Context, out *output.Writer, db *stores.DB, r textindex.Reindex) error {
	line := output.NewLine(out.Writer)
	for shown := (textindex.Reindex{}); ; {
		done := r.State == textindex.ReindexDone
		switch {
		case !c.JSON:
			line.Show(reindexText(r), done)
		case r.Done != shown.Done || r.State != shown.State:
			if err := json.NewEncoder(out).Encode(r); err != nil {
				return err
			}
			shown = r
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			if !c.JSON {
				line.Print("the build continues; `livegraph reindex --wait` shows its progress again")
			}
			return nil
		case <-time.After(progressPollInterval):
		}
		next, err := db.Reindex(ctx, r.ID)
		switch {
		case err == nil:
			r = next
		case ctx.Err() == nil && !fault.Is(err, fault.Unavailable): // Postgres may recover
			return err
		}
	}
}

func reindexText(r textindex.Reindex) string {
	if r.State == textindex.ReindexQueued {
		return "queued: waiting for a server with role embeddings"
	}
	percent := 100.0
	if r.Total > 0 {
		percent = 100 * float64(r.Done) / float64(r.Total)
	}
	text := fmt.Sprintf("%-8s %5.1f %%  %d of %s", r.State, percent, r.Done, plural.Count(r.Total, "node"))
	if r.Model != nil {
		text += ", " + r.Model.Name
	}
	if r.ETASeconds != nil && r.State == textindex.ReindexRunning {
		text += ", " + time.Duration(*r.ETASeconds*float64(time.Second)).Round(time.Second).String() + " left"
	}
	return text
}
