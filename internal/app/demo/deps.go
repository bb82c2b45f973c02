package demo

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// OpenDeps returns the dependencies of the demo.
func OpenDeps(
	db *stores.DB, dataDir string, workspace uuid.UUID, server runfile.Server, out *output.Writer,
) (deps Deps, err error) {
	deps = Deps{BaseURL: server.URL, DataDir: dataDir, Workspace: workspace, Out: out.Writer}
	deps.NewKey = func(ctx context.Context) (string, error) {
		found, err := db.WorkspacesByID(ctx, []uuid.UUID{workspace})
		if err != nil || len(found) == 0 {
			return "", cmp.Or(err, fmt.Errorf("there is no workspace %s", workspace))
		}
		expires := time.Now().Add(24 * time.Hour) // then the client creates another one
		_, text, err := keyadmin.Create(ctx, db, access.NewKey{
			Name: "demo", Mode: found[0].Mode, Workspaces: []uuid.UUID{workspace}, CreatedBy: "demo", ExpiresAt: &expires,
			Scopes: []string{"read:livedata", "write:livedata", "read:nodes", "write:nodes", "read:edges", "write:edges"},
		})
		return text.Reveal(), err
	}
	deps.HTTP, err = client.Local(server)
	return deps, err
}
