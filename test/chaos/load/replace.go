package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// roundsPerTenant is the number of rounds after which one workspace is removed and replaced, so
// that neither the stores nor the model grow without bound.
const roundsPerTenant = 20

// replaceTenant removes a workspace and creates another one: one second later, all keys of the
// removed one must be refused.
func (l *Load) replaceTenant(ctx context.Context) ([]Violation, error) {
	index := l.round / roundsPerTenant % len(l.tenants)
	old := l.tenants[index]
	successor, err := l.newTenant(ctx, old.index)
	if err != nil {
		return nil, fmt.Errorf("making a workspace in its place: %w", err)
	}
	if err := l.operator.do(
		ctx, call{method: http.MethodDelete, path: "/admin/api/workspaces/" + old.id}, http.StatusAccepted, nil,
	); err != nil {
		return nil, err
	}
	since := time.Now()
	keys := append(slices.Clone(old.actors), old.admin, old.solo)
	if old.hub.actor.text != "" {
		keys = append(keys, old.hub.actor)
	}
	for _, key := range keys {
		l.revoked.add(revokedKey{key, since, "of a workspace that was removed"})
	}
	time.Sleep(revocationDelay)
	for _, key := range l.revoked.list() {
		if key.tenant == old {
			l.checkRevoked(ctx, key)
		}
	}
	l.tenants[index] = successor
	old.history, old.sources = nil, sourceSet{} // its revoked keys still refer to it
	return nil, nil
}
