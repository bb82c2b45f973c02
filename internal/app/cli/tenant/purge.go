package tenant

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// GraphPurgeCmd removes what a deleted node was.
type GraphPurgeCmd struct {
	tenant
	Node uuid.UUID `arg:"" help:"The node. It has to be deleted first."`
}

// Run asks for it, and prints how far it is.
func (c *GraphPurgeCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.writes(ctx, func(v *visit) error {
		got, err := v.ask(ctx, http.MethodPost, "/api/admin/nodes/"+c.Node.String()+"/purge", nil, nil)
		if err != nil || c.JSON {
			return printed(out, got, err)
		}
		done, err := read[struct{ Data struct{ State string } }](got)
		if err != nil {
			return err
		}
		if done.Data.State == "purged" {
			_, err = fmt.Fprintf(out, "node %s is purged\n", c.Node)
			return err
		}
		_, err = fmt.Fprintf(
			out, "node %s is purged by a server with role points, as soon as one runs; ask again to see that it was\n", c.Node,
		)
		return err
	})
}
