package commands

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// purgePath is the route that purges a deleted node.
const purgePath = "/api/admin/nodes/{id}/purge"

const (
	// purgeTimeout is how long a request waits until the node is purged, and
	// purgePollInterval how often it polls. The background job polls twice a second.
	purgeTimeout      = 3 * time.Second
	purgePollInterval = 100 * time.Millisecond
)

// purgeStore stores the requests for purges.
type purgeStore interface {
	RequestPurge(ctx context.Context, id graphstore.GraphNodeID) (graphstore.Purge, error)
}

// nodePurge is the state of the purge of a node.
type nodePurge struct {
	NodeID uuid.UUID `json:"nodeId"`
	State  string    `json:"state"` // purging or purged
}

// purge requests the removal of a deleted node's data: 200 when it is done, 202 while it is
// in progress. A repeated request returns the state of the purge.
func (a *api) purge(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	node, err := request.PathID(r, "id", "node")
	if err != nil {
		return err
	}
	id := graphstore.GraphNodeID{Workspace: request.PrincipalOf(r.Context()).Workspace, Node: node}
	for deadline := time.Now().Add(purgeTimeout); ; {
		state, err := a.Purges.RequestPurge(r.Context(), id)
		switch {
		case err != nil:
			return err
		case state == graphstore.PurgeDone:
			reply.Data(w, r, http.StatusOK, nodePurge{NodeID: node, State: "purged"})
			return nil
		case time.Now().After(deadline) || !sleep.For(r.Context(), purgePollInterval):
			reply.Data(w, r, http.StatusAccepted, nodePurge{NodeID: node, State: "purging"})
			return nil
		}
	}
}
