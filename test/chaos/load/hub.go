package load

import (
	"context"
	"math/rand/v2"
	"net/http"

	"github.com/google/uuid"
)

const (
	// hubEdges is how many edges the hub has: more than are deleted or brought back among
	// other commands.
	hubEdges = 12_000
	// hubEnds is how many nodes they lead to.
	hubEnds = 20
	// hubBatch is how many commands a batch has at most.
	hubBatch = 1000
	// commandsOfHub is about how many commands there are for each time that the hub is
	// deleted or brought back.
	commandsOfHub = 150
)

// hub is a node with very many edges, and its actor: the node is made under load. The actor
// does nothing else, so that what it did last is what it did to the hub.
type hub struct {
	actor access
	id    uuid.UUID
	made  int // batches of it that are known to have been applied
	ends  []uuid.UUID
}

// turnHub makes the hub, or what is missing of it. If there is all of it, it deletes the
// hub, and brings it back the next time. What comes of it is held against the journal as
// of any other command.
func (t *tenant) turnHub(ctx context.Context, dice *rand.Rand) {
	for t.hub.made*hubBatch < hubEdges {
		if over(ctx) || !t.makeHub(ctx, dice) {
			return
		}
	}
	a, err := t.load.client.do(ctx, call{
		key: t.hub.actor, method: http.MethodGet, path: "/api/queries/nodes/" + t.hub.id.String(),
	})
	if err != nil {
		return
	}
	kind, payload := "UNDO", map[string]any{}
	switch {
	case a.Status == http.StatusOK:
		kind, payload = "DELETE_NODE", map[string]any{"id": t.hub.id}
	case a.Status != http.StatusNotFound:
		return
	}
	_, _ = t.insist(ctx, t.hubCommand(executePath, map[string]any{"type": kind, "payload": payload}))
}

// makeHub creates a further part of the hub. It reports whether that was applied.
func (t *tenant) makeHub(ctx context.Context, dice *rand.Rand) bool {
	h := &t.hub
	var commands []any
	one := func(kind string, payload map[string]any) {
		commands = append(commands, map[string]any{"type": kind, "payload": payload})
	}
	id, ends := h.id, h.ends
	if h.made == 0 {
		id, ends = seededID(dice), nil
		one("CREATE_NODE", t.node(id, dice))
		for range hubEnds {
			ends = append(ends, seededID(dice))
			one("CREATE_NODE", t.node(ends[len(ends)-1], dice))
		}
	}
	for range min(hubBatch-len(commands), hubEdges-h.made*hubBatch) {
		one("CREATE_EDGE", t.edge(seededID(dice), id, ends[dice.IntN(len(ends))], dice))
	}
	a, err := t.insist(ctx, t.hubCommand(batchPath, map[string]any{"commands": commands}))
	if err != nil || a.Status/100 != 2 {
		return false
	}
	h.id, h.ends = id, ends
	h.made++
	return true
}

func (t *tenant) hubCommand(path string, of map[string]any) *command {
	return &command{
		actor: t.hub.actor, path: path, body: body(of),
		key: t.newKey("hub"),
	}
}
