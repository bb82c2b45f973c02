package tenant

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

// GraphPurgeCmd purges a deleted node.
type GraphPurgeCmd struct {
	tenant
	Node uuid.UUID `arg:"" help:"The node. It has to be deleted first."`
}

// Run requests the purge and prints its state.
func (c *GraphPurgeCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withGraphRoutes(ctx, func(v *session) error {
		got, err := v.do(ctx, http.MethodPost, "/api/admin/nodes/"+c.Node.String()+"/purge", nil, nil)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		done, err := decode[struct{ Data struct{ State string } }](got)
		if err != nil {
			return err
		}
		if done.Data.State == "purged" {
			_, err = fmt.Fprintf(out, "node %s is purged\n", c.Node)
			return err
		}
		_, err = fmt.Fprintf(
			out, "node %s will be purged by a server with role points; run the command again to see the state\n", c.Node,
		)
		return err
	})
}
