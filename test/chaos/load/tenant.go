package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// retryPause is between two tries of what has to be done.
const retryPause = 100 * time.Millisecond

// commandsOfTrip is about how many commands the solo actor sends to do, undo, redo and undo again.
const commandsOfTrip = 28

// commandsOfRedrive is about how many commands there are for each time that an operator
// puts dead letters back.
const commandsOfRedrive = 60

// actorsOfTenant is how many actors of a workspace get into each other's way.
const actorsOfTenant = 3

// tenant is a workspace with what the load has there, and its part of the model.
type tenant struct {
	load   *Load
	index  int
	id     string
	uuid   uuid.UUID
	canary string
	admin  access   // with scope admin
	actors []access // that write the graph
	solo   access   // whose nodes nobody else writes
	shelf  shelf    // its sources
	graph  ledger   // what was asked of its graph
	hub    hub      // of the first workspace
	feed   *feed    // its events
	past   *history // its journal, folded
	trips  int      // of the solo actor, since it is known what it did
}

// newTenant creates a workspace and its keys.
func (l *Load) newTenant(ctx context.Context, index int) (*tenant, error) {
	l.made++
	t := &tenant{load: l, index: index, canary: canaryOf(l.cfg.Seed, l.made), past: newHistory()}
	var made struct{ ID string }
	err := l.operator.do(ctx, call{method: http.MethodPost, path: "/admin/api/workspaces", body: body(map[string]any{
		"name": t.canary, "plan": "enterprise",
	})}, http.StatusCreated, &made)
	if err != nil {
		return nil, err
	}
	t.id = made.ID
	if t.uuid, err = uuid.Parse(made.ID); err != nil {
		return nil, fmt.Errorf("the workspace's id: %w", err)
	}
	if t.admin, err = l.operator.makeKey(ctx, t, "admin", "admin"); err != nil {
		return nil, err
	}
	graph := []string{"read:nodes", "write:nodes", "read:edges", "write:edges"}
	for i := range actorsOfTenant {
		actor, err := l.operator.makeKey(ctx, t, fmt.Sprintf("actor %d", i), graph...)
		if err != nil {
			return nil, err
		}
		t.actors = append(t.actors, actor)
	}
	if t.solo, err = l.operator.makeKey(ctx, t, "solo", graph...); err != nil {
		return nil, err
	}
	if index == 0 {
		if t.hub.actor, err = l.operator.makeKey(ctx, t, "hub", graph...); err != nil {
			return nil, err
		}
	}
	t.graph.init()
	t.feed = newFeed(t)
	return t, nil
}

// neighbour is another tenant, whose things are not this one's.
func (t *tenant) neighbour() *tenant {
	others := t.load.tenants
	return others[(t.index+1)%len(others)]
}

// workers are what works for the tenant in a round, by name.
func (t *tenant) workers() map[string]worker {
	rate, tenants := t.load.cfg.Rate, float64(t.load.cfg.Workspaces)
	workers := map[string]worker{
		"solo":   {rate.Undo / tenants / commandsOfTrip, t.roundTrip},
		"search": {rate.Reads / tenants / 2, t.search},
		"pry":    {rate.Reads / tenants / 2, t.pry},
		"keys":   {rate.Keys / tenants, t.useKey},
		"events": {1, t.feed.follow},
	}
	if t.index == 0 {
		workers["hub"] = worker{rate.Commands / commandsOfHub, t.turnHub}
		workers["redrive"] = worker{rate.Commands / commandsOfRedrive, t.load.redrive}
	}
	for i, format := range formats {
		workers[fmt.Sprintf("points %d", i)] = worker{rate.Ingest / tenants / float64(len(formats)), func(
			ctx context.Context, dice *rand.Rand,
		) {
			t.ingest(ctx, dice, format)
		}}
	}
	for i := range t.actors {
		workers[fmt.Sprintf("actor %d", i)] = worker{rate.Commands / tenants / actorsOfTenant, func(
			ctx context.Context, dice *rand.Rand,
		) {
			t.command(ctx, dice, t.actors[i])
		}}
	}
	return workers
}
