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

// ReindexCmd has the search index built again.
type ReindexCmd struct {
	target.Target `embed:""`
	Wait          bool `help:"Show how far it is, until it is done."`
	JSON          bool `help:"Print JSON, with --wait a line for each look at the progress."`
}

// Run asks for a new index, which a process with role embeddings builds. Ctrl-C ends
// the showing, not the building.
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
			"re-index %s is %s; a server with role embeddings builds it, and searches use the index of before until it "+
				"is done\n",
			r.ID, r.State,
		)
		return err
	})
}

// follow shows the progress until the index is built.
func (c *ReindexCmd) follow(ctx context.Context, out *output.Writer, db *stores.DB, r textindex.Reindex) error {
	line := output.NewLine(out.Writer)
	for shown := (textindex.Reindex{}); ; {
		over := r.State == textindex.ReindexDone
		switch {
		case !c.JSON:
			line.Show(reindexText(r), over)
		case r.Done != shown.Done || r.State != shown.State:
			if err := json.NewEncoder(out).Encode(r); err != nil {
				return err
			}
			shown = r
		}
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			if !c.JSON {
				line.Say("the index is built all the same; `livegraph reindex --wait` shows it again")
			}
			return nil
		case <-time.After(lookEvery):
		}
		next, err := db.Reindex(ctx, r.ID)
		switch {
		case err == nil:
			r = next
		case ctx.Err() == nil && !fault.Is(err, fault.Unavailable): // Postgres may be back soon
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
