package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// soloPatience is how long a command of the solo actor is repeated after the round is
// over: what it does next depends on what came of it.
const soloPatience = 5 * time.Second

// tripsUndone is how many round trips of the solo actor stay undone until one is left
// standing: their commands are more than a stack is deep, and what stood before them is
// below all of these.
const tripsUndone = 25

// roundTrip has the solo actor write a few things that are nobody else's, undo all of
// it and redo all of it: everything is then as it was, except for versions and times. Mostly
// it then undoes all of it again, and what stood before.
func (t *tenant) roundTrip(ctx context.Context, dice *rand.Rand) {
	if t.index%2 == 1 {
		return // there, others take back what anybody did
	}
	made, ok := t.thereAndBack(ctx, dice)
	if !ok {
		t.trips = 0 // nobody knows what stands
		return
	}
	if t.trips++; t.trips%tripsUndone == 1 {
		return
	}
	if !t.turn(ctx, "UNDO", made+1) || !t.turn(ctx, "REDO", 1) {
		t.trips = 0
	}
}

// thereAndBack does, undoes and redoes a few commands, and returns how many. What is
// wrong with it is noted; ok is false also if the round ended meanwhile.
func (t *tenant) thereAndBack(ctx context.Context, dice *rand.Rand) (made int, ok bool) {
	nodes := []uuid.UUID{seededID(dice), seededID(dice), seededID(dice)}
	edges := []uuid.UUID{seededID(dice), seededID(dice)}
	for _, step := range t.steps(nodes, edges, dice) {
		a, err := t.insist(ctx, step)
		switch {
		case err != nil:
			return made, false
		case a.Status/100 != 2:
			t.load.wrong.add(
				8, "a command of an actor on what is its own is refused", "%s %s: %d %s", step.body, a.RequestID, a.Status,
				a.Error.Message,
			)
			return made, false
		}
		made++
	}
	before, err := t.look(ctx, nodes, edges)
	if err != nil || !t.turn(ctx, "UNDO", made) {
		return made, false
	}
	gone, err := t.look(ctx, nodes, edges)
	if err != nil {
		return made, false
	}
	for id, r := range gone {
		if r != "" {
			t.load.wrong.add(8, "something stands after all was undone", "workspace %s, %s: %s", t.id, id, r)
		}
	}
	if !t.turn(ctx, "REDO", made) {
		return made, false
	}
	after, err := t.look(ctx, nodes, edges)
	if err != nil {
		return made, false
	}
	for id, want := range before {
		if after[id] != want {
			t.load.wrong.add(
				8, "something is not as it was after all was undone and redone", "workspace %s, %s: %q, before %q", t.id, id,
				after[id], want,
			)
		}
	}
	return made, true
}

// steps are the commands of a round trip.
func (t *tenant) steps(nodes, edges []uuid.UUID, dice *rand.Rand) []*command {
	one := func(kind string, payload map[string]any) *command {
		return &command{actor: t.solo, path: executePath, body: body(map[string]any{"type": kind, "payload": payload})}
	}
	steps := []*command{
		one("CREATE_NODE", t.node(nodes[0], dice)),
		one("CREATE_NODE", t.node(nodes[1], dice)),
		one("CREATE_EDGE", t.edge(edges[0], nodes[0], nodes[1], dice)),
		{actor: t.solo, path: batchPath, body: body(map[string]any{"commands": []any{
			map[string]any{"type": "CREATE_NODE", "payload": t.node(nodes[2], dice)},
			map[string]any{"type": "CREATE_EDGE", "payload": t.edge(edges[1], nodes[2], nodes[0], dice)},
		}})},
	}
	more := []*command{
		one("UPDATE_NODE", map[string]any{
			"id": nodes[0], "name": t.name(dice), "properties": map[string]any{"a": dice.IntN(9), "b": nil},
		}),
		one("UPDATE_NODE", map[string]any{"id": nodes[1], "description": nil, "properties": map[string]any{"c": t.canary}}),
		one("UPDATE_EDGE", map[string]any{"id": edges[0], "relationType": "again " + t.canary}),
	}
	dice.Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
	steps = append(steps, more[:1+dice.IntN(len(more))]...)
	if dice.IntN(2) == 0 { // with both edges
		steps = append(steps, one("DELETE_NODE", map[string]any{"id": nodes[0]}))
	}
	for _, s := range steps {
		s.key = t.newKey("solo")
	}
	return steps
}

// insist repeats a command with its key until it is decided. What stays open is
// resolved when the round is over.
func (t *tenant) insist(ctx context.Context, c *command) (*answer, error) {
	var late time.Time
	for {
		a, err := t.load.client.do(ctx, c.call())
		if !unknown(a, err) {
			t.decided(c, a)
			return a, nil
		}
		switch now := time.Now(); {
		case !over(ctx):
		case late.IsZero():
			late = now.Add(soloPatience)
		case now.After(late):
			t.graph.leaveOpen(c)
			return nil, errUnknown
		}
		time.Sleep(retryPause)
	}
}

// turn undoes or redoes a number of commands.
func (t *tenant) turn(ctx context.Context, kind string, times int) bool {
	for n := range times {
		c := &command{
			actor: t.solo, path: executePath, body: body(map[string]any{"type": kind}),
			key: t.newKey("solo"),
		}
		a, err := t.insist(ctx, c)
		if err != nil {
			return false
		}
		if a.Status != http.StatusOK {
			t.load.wrong.add(
				8, "what an actor did last cannot be undone or redone", "workspace %s, %s %d of %d, %s: %d %s %v", t.id, kind, n+1,
				times, a.RequestID, a.Status, a.Error.Message, a.Error.Details,
			)
			return false
		}
	}
	return true
}

// look reads nodes and edges: what there is of each except for its version and time, ""
// if it does not stand.
func (t *tenant) look(ctx context.Context, nodes, edges []uuid.UUID) (map[uuid.UUID]string, error) {
	found := map[uuid.UUID]string{}
	for i, id := range append(append([]uuid.UUID(nil), nodes...), edges...) {
		path := "/api/queries/nodes/"
		if i >= len(nodes) {
			path = "/api/queries/edges/"
		}
		a, err := t.load.client.reach(ctx, call{key: t.solo, method: http.MethodGet, path: path + id.String()})
		switch {
		case err != nil:
			return nil, err
		case a.Status == http.StatusNotFound:
			found[id] = ""
		case a.Status != http.StatusOK:
			return nil, fmt.Errorf("%w: %d", errRefused, a.Status)
		default:
			var r map[string]json.RawMessage
			if err := a.into(&r); err != nil {
				return nil, err
			}
			delete(r, "version")
			delete(r, "updatedAt")
			found[id] = string(bytes.TrimSpace(body(r)))
		}
	}
	return found, nil
}

var errUnresolved = errors.New("commands are unresolved")

// resolve finds out what came of the commands that were left open, each by its key.
func (t *tenant) resolve(ctx context.Context) error {
	open := t.graph.takeOpen()
	for i, c := range open {
		for {
			a, err := t.load.client.do(ctx, c.call())
			if !unknown(a, err) {
				t.decided(c, a)
				break
			}
			if !rest(ctx, retryPause) {
				for _, left := range open[i:] {
					t.graph.leaveOpen(left)
				}
				if err == nil {
					err = fmt.Errorf("%d %s", a.Status, a.Error.Message)
				}
				return fmt.Errorf("%w: %d in workspace %s: %w", errUnresolved, len(open)-i, t.id, err)
			}
		}
	}
	return nil
}
