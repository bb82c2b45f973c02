package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
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

// OpenDeps returns the dependencies of the demo. The zero workspace means that of the first run.
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
	deps := Deps{BaseURL: server.URL, DataDir: dataDir, Workspace: workspace, Out: out.Writer}
	deps.NewKey = func(ctx context.Context) (string, error) {
		found, err := db.WorkspacesByID(ctx, []uuid.UUID{workspace})
		if err != nil || len(found) == 0 {
			return "", cmp.Or(err, fmt.Errorf("there is no workspace %s", workspace))
		}
		expires := time.Now().Add(24 * time.Hour) // then the keyring creates another one
		_, text, err := keyadmin.Create(ctx, db, access.NewKey{
			Name: "demo", Mode: found[0].Mode, Workspaces: []uuid.UUID{workspace}, CreatedBy: "demo", ExpiresAt: &expires,
			Scopes: []string{"read:livedata", "write:livedata", "read:nodes", "write:nodes", "read:edges", "write:edges"},
		})
		return text.Reveal(), err
	}
	transport, err := client.LocalTransport(server)
	if transport != nil {
		deps.Transport = transport
	}
	return deps, err
}

// keyring is a transport that adds the demo's key to each request. If the server refuses the key, because it expired
// or was revoked, the keyring creates another one and repeats the request.
type keyring struct {
	create func(ctx context.Context) (string, error)
	next   http.RoundTripper // nil: the default

	mu  sync.Mutex
	key string
}

// RoundTrip sends a request. An error causes the client to wait and to try again.
func (k *keyring) RoundTrip(r *http.Request) (*http.Response, error) {
	for refused := ""; ; {
		key, err := k.renew(r.Context(), refused)
		if err != nil {
			return nil, err
		}
		attempt := r.Clone(r.Context())
		attempt.Header.Set("Authorization", "Bearer "+key)
		if refused != "" && r.GetBody != nil {
			if attempt.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		response, err := cmp.Or(k.next, http.DefaultTransport).RoundTrip(attempt)
		if err != nil || response.StatusCode != http.StatusUnauthorized {
			return response, err
		}
		_ = response.Body.Close()
		if refused != "" {
			return nil, errors.New("the server refuses a new key")
		}
		refused = key
	}
}

// renew returns the key. It creates one if the key is the refused one, or if there is none and refused is "".
func (k *keyring) renew(ctx context.Context, refused string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != refused {
		return k.key, nil
	}
	key, err := k.create(ctx)
	if err != nil {
		return "", fmt.Errorf("making a key for the demo: %w", err)
	}
	k.key = key
	return key, nil
}
