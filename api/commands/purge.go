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

// purgePath is where the purge of a deleted node is asked for.
const purgePath = "/api/admin/nodes/{id}/purge"

const (
	// purgeWait is how long a request waits until the node is purged, and purgeEvery how
	// often it looks. The background work looks twice a second.
	purgeWait  = 3 * time.Second
	purgeEvery = 100 * time.Millisecond
)

// purges takes the requests for purges.
type purges interface {
	RequestPurge(ctx context.Context, id graphstore.GraphNodeID) (graphstore.Purge, error)
}

// nodePurge is how far the purge of a node is.
type nodePurge struct {
	NodeID uuid.UUID `json:"nodeId"`
	State  string    `json:"state"` // purging or purged
}

// purge has what a deleted node was removed: 200 when it was, 202 while it is not yet.
// A repeated request returns the state of the purge.
func (a *api) purge(w http.ResponseWriter, r *http.Request) error {
	if err := request.Nothing(r); err != nil {
		return err
	}
	node, err := request.PathID(r, "id", "node")
	if err != nil {
		return err
	}
	id := graphstore.GraphNodeID{Workspace: request.PrincipalOf(r.Context()).Workspace, Node: node}
	for until := time.Now().Add(purgeWait); ; {
		state, err := a.Purges.RequestPurge(r.Context(), id)
		switch {
		case err != nil:
			return err
		case state == graphstore.PurgeDone:
			reply.Data(w, r, http.StatusOK, nodePurge{NodeID: node, State: "purged"})
			return nil
		case time.Now().After(until) || !sleep.For(r.Context(), purgeEvery):
			reply.Data(w, r, http.StatusAccepted, nodePurge{NodeID: node, State: "purging"})
			return nil
		}
	}
}
