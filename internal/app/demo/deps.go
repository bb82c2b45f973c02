package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/runfile"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// keyLifetime is the lifetime of the demo's keys. The demo creates a new key when the old one has expired.
const keyLifetime = 24 * time.Hour

// OpenDeps returns the dependencies of the demo. The zero workspace means that of the first
// run.
func OpenDeps(
	db *stores.DB, dataDir string, workspace uuid.UUID, server runfile.Server, out *output.Writer,
) (Deps, error) {
	if workspace == uuid.Nil {
		record, err := firstrun.Read(dataDir)
		if err != nil {
			return Deps{}, fmt.Errorf("name the workspace with --workspace: %s is gone", firstrun.Path(dataDir))
		}
		workspace = record.WorkspaceID
	}
	deps := Deps{
		BaseURL: server.URL, DataDir: dataDir, Workspace: workspace, Out: out.Writer,
		NewKey: func(ctx context.Context) (string, error) { return newKey(ctx, db, workspace) },
	}
	transport, err := client.LocalTransport(server)
	if transport != nil {
		deps.Transport = transport
	}
	return deps, err
}

// newKey creates a key for the demo that may read and write live data and the graph, and
// that expires.
func newKey(ctx context.Context, db *stores.DB, workspace uuid.UUID) (string, error) {
	found, err := db.WorkspacesByID(ctx, []uuid.UUID{workspace})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no workspace %s", workspace)
	}
	expires := time.Now().Add(keyLifetime)
	_, text, err := keyadmin.Create(ctx, db, access.NewKey{
		Name: "demo", Mode: found[0].Mode,
		Scopes:     []string{"read:livedata", "write:livedata", "read:nodes", "write:nodes", "read:edges", "write:edges"},
		Workspaces: []uuid.UUID{workspace},
		CreatedBy:  "demo", ExpiresAt: &expires,
	})
	return text.Reveal(), err
}
