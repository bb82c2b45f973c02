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

// soloTimeout bounds how long a command of the solo actor is retried after the end of the round:
// its next command depends on the outcome.
const soloTimeout = 5 * time.Second

// tripsPerKept is the number of round trips of the solo actor of which one is not undone in the
// end. The commands of this many trips exceed the depth of a stack, and the state before them is
// below all of these.
const tripsPerKept = 25

// roundTrip writes a few nodes and edges as the solo actor, undoes all of it and redoes all of it:
// the state is then the same, except for versions and times. Usually it then undoes all of it
// again, and the command before.
func (t *tenant) roundTrip(ctx context.Context, dice *rand.Rand) {
	if t.index%2 == 1 {
		return // in these workspaces, other actors undo commands of any actor
	}
	made, ok := t.undoRedoTrip(ctx, dice)
	if !ok {
		t.trips = 0 // the state is unknown
		return
	}
	if t.trips++; t.trips%tripsPerKept == 1 {
		return
	}
	if !t.undoOrRedo(ctx, "UNDO", made+1) || !t.undoOrRedo(ctx, "REDO", 1) {
		t.trips = 0
	}
}

// undoRedoTrip sends, undoes and redoes a few commands, and returns their number. Violations are
// recorded; ok is false also if the round ended meanwhile.
func (t *tenant) undoRedoTrip(ctx context.Context, dice *rand.Rand) (made int, ok bool) {
	nodes := []uuid.UUID{seededID(dice), seededID(dice), seededID(dice)}
	edges := []uuid.UUID{seededID(dice), seededID(dice)}
	for _, step := range t.steps(nodes, edges, dice) {
		a, err := t.sendUntilDecided(ctx, step)
		switch {
		case err != nil:
			return made, false
		case a.Status/100 != 2:
			t.load.findings.add(
				8, "a command of an actor on what is its own is refused", "%s %s: %d %s", step.body, a.RequestID, a.Status,
				a.Error.Message,
			)
			return made, false
		}
		made++
	}
	before, err := t.readResources(ctx, nodes, edges)
	if err != nil || !t.undoOrRedo(ctx, "UNDO", made) {
		return made, false
	}
	gone, err := t.readResources(ctx, nodes, edges)
	if err != nil {
		return made, false
	}
	for id, r := range gone {
		if r != "" {
			t.load.findings.add(8, "something stands after all was undone", "workspace %s, %s: %s", t.id, id, r)
		}
	}
	if !t.undoOrRedo(ctx, "REDO", made) {
		return made, false
	}
	after, err := t.readResources(ctx, nodes, edges)
	if err != nil {
		return made, false
	}
	for id, want := range before {
		if after[id] != want {
			t.load.findings.add(
				8, "something is not as it was after all was undone and redone", "workspace %s, %s: %q, before %q", t.id, id,
				after[id], want,
			)
		}
	}
	return made, true
}

// steps returns the commands of a round trip.
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

// sendUntilDecided repeats a command with its key until its outcome is known. A command that stays
// open is resolved when the round is over.
func (t *tenant) sendUntilDecided(ctx context.Context, c *command) (*answer, error) {
	var deadline time.Time
	for {
		a, err := t.load.client.do(ctx, c.call())
		if !outcomeUnknown(a, err) {
			t.recordAnswer(c, a)
			return a, nil
		}
		switch now := time.Now(); {
		case !roundOver(ctx):
		case deadline.IsZero():
			deadline = now.Add(soloTimeout)
		case now.After(deadline):
			t.graph.addOpen(c)
			return nil, errUnknown
		}
		time.Sleep(retryPause)
	}
}

// undoOrRedo undoes or redoes a number of commands.
func (t *tenant) undoOrRedo(ctx context.Context, kind string, times int) bool {
	for n := range times {
		c := &command{
			actor: t.solo, path: executePath, body: body(map[string]any{"type": kind}),
			key: t.newKey("solo"),
		}
		a, err := t.sendUntilDecided(ctx, c)
		if err != nil {
			return false
		}
		if a.Status != http.StatusOK {
			t.load.findings.add(
				8, "what an actor did last cannot be undone or redone", "workspace %s, %s %d of %d, %s: %d %s %v", t.id, kind, n+1,
				times, a.RequestID, a.Status, a.Error.Message, a.Error.Details,
			)
			return false
		}
	}
	return true
}

// readResources returns the nodes and edges by id, without version and update time; "" if one does
// not exist.
func (t *tenant) readResources(ctx context.Context, nodes, edges []uuid.UUID) (map[uuid.UUID]string, error) {
	found := map[uuid.UUID]string{}
	for i, id := range append(append([]uuid.UUID(nil), nodes...), edges...) {
		path := "/api/queries/nodes/"
		if i >= len(nodes) {
			path = "/api/queries/edges/"
		}
		a, err := t.load.client.doUntilAnswered(ctx, call{key: t.solo, method: http.MethodGet, path: path + id.String()})
		switch {
		case err != nil:
			return nil, err
		case a.Status == http.StatusNotFound:
			found[id] = ""
		case a.Status != http.StatusOK:
			return nil, fmt.Errorf("%w: %d", errRefused, a.Status)
		default:
			var r map[string]json.RawMessage
			if err := a.decodeData(&r); err != nil {
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

// resolve determines the outcomes of the open commands by sending each again with its key.
func (t *tenant) resolve(ctx context.Context) error {
	open := t.graph.drainOpen()
	for i, c := range open {
		for {
			a, err := t.load.client.do(ctx, c.call())
			if !outcomeUnknown(a, err) {
				t.recordAnswer(c, a)
				break
			}
			if !sleep(ctx, retryPause) {
				for _, left := range open[i:] {
					t.graph.addOpen(left)
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
