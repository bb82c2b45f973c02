package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// retryPause is the pause between retries of requests that must succeed.
const retryPause = 100 * time.Millisecond

// commandsPerTrip is the approximate number of commands of one round trip of the solo actor.
const commandsPerTrip = 28

// commandsPerRedrive is the approximate number of commands between two redrives of dead letters by
// an operator.
const commandsPerRedrive = 60

// actorsPerTenant is the number of actors of a workspace that change the same nodes and edges.
const actorsPerTenant = 3

// tenant is a workspace, its keys and sources, and its part of the model.
type tenant struct {
	load    *Load
	index   int
	id      string
	uuid    uuid.UUID
	canary  string
	admin   access    // with scope admin
	actors  []access  // of the actors that write the graph
	solo    access    // of the actor whose nodes no other actor writes
	sources sourceSet // data sources
	graph   ledger    // requests to change its graph
	hub     hub       // only in the first workspace
	feed    *feed     // stream of its events
	history *history  // the graph that its journal results in
	trips   int       // round trips of the solo actor since its state was last unknown
}

// newTenant creates a workspace and its keys.
func (l *Load) newTenant(ctx context.Context, index int) (*tenant, error) {
	l.created++
	t := &tenant{load: l, index: index, canary: canaryOf(l.cfg.Seed, l.created), history: newHistory()}
	var created struct{ ID string }
	err := l.operator.do(ctx, call{method: http.MethodPost, path: "/admin/api/workspaces", body: body(map[string]any{
		"name": t.canary, "plan": "enterprise",
	})}, http.StatusCreated, &created)
	if err != nil {
		return nil, err
	}
	t.id = created.ID
	if t.uuid, err = uuid.Parse(created.ID); err != nil {
		return nil, fmt.Errorf("the workspace's id: %w", err)
	}
	if t.admin, err = l.operator.createKey(ctx, t, "admin", "admin"); err != nil {
		return nil, err
	}
	graph := []string{"read:nodes", "write:nodes", "read:edges", "write:edges"}
	for i := range actorsPerTenant {
		actor, err := l.operator.createKey(ctx, t, fmt.Sprintf("actor %d", i), graph...)
		if err != nil {
			return nil, err
		}
		t.actors = append(t.actors, actor)
	}
	if t.solo, err = l.operator.createKey(ctx, t, "solo", graph...); err != nil {
		return nil, err
	}
	if index == 0 {
		if t.hub.actor, err = l.operator.createKey(ctx, t, "hub", graph...); err != nil {
			return nil, err
		}
	}
	t.graph.init()
	t.feed = newFeed(t)
	return t, nil
}

// neighbour returns another tenant, whose data this tenant must not see.
func (t *tenant) neighbour() *tenant {
	tenants := t.load.tenants
	return tenants[(t.index+1)%len(tenants)]
}

// workers returns the workers of the tenant in a round, by name.
func (t *tenant) workers() map[string]worker {
	rate, tenants := t.load.cfg.Rate, float64(t.load.cfg.Workspaces)
	workers := map[string]worker{
		"solo":   {rate.Undo / tenants / commandsPerTrip, t.roundTrip},
		"search": {rate.Reads / tenants / 2, t.search},
		"pry":    {rate.Reads / tenants / 2, t.probeOther},
		"keys":   {rate.Keys / tenants, t.useKey},
		"events": {1, t.feed.follow},
	}
	if t.index == 0 {
		workers["hub"] = worker{rate.Commands / commandsPerHubToggle, t.toggleHub}
		workers["redrive"] = worker{rate.Commands / commandsPerRedrive, t.load.redrive}
	}
	for i, format := range formats {
		workers[fmt.Sprintf("points %d", i)] = worker{rate.Ingest / tenants / float64(len(formats)), func(
			ctx context.Context, dice *rand.Rand,
		) {
			t.ingest(ctx, dice, format)
		}}
	}
	for i := range t.actors {
		workers[fmt.Sprintf("actor %d", i)] = worker{rate.Commands / tenants / actorsPerTenant, func(
			ctx context.Context, dice *rand.Rand,
		) {
			t.command(ctx, dice, t.actors[i])
		}}
	}
	return workers
}
