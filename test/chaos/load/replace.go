package load

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// tenantRounds is after how many rounds one workspace is removed and another takes its
// place: so neither the stores nor the model grow forever.
const tenantRounds = 20

// replaceTenant removes a workspace: a second later none of its keys works anywhere.
func (l *Load) replaceTenant(ctx context.Context) ([]Violation, error) {
	at := l.round / tenantRounds % len(l.tenants)
	old := l.tenants[at]
	fresh, err := l.newTenant(ctx, old.index)
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
		l.keys.add(goneKey{key, since, "of a workspace that was removed"})
	}
	time.Sleep(refusedAfter)
	for _, gone := range l.keys.list() {
		if gone.tenant == old {
			l.tryGone(ctx, gone)
		}
	}
	l.tenants[at] = fresh
	old.past, old.shelf = nil, shelf{} // its keys are tried again later, and remember it
	return nil, nil
}
