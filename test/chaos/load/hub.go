package load

import (
	"context"
	"math/rand/v2"
	"net/http"

	"github.com/google/uuid"
)

const (
	// hubEdges is the number of edges of the hub: more than are deleted or restored together with other
	// commands in one batch.
	hubEdges = 12_000
	// hubEnds is the number of nodes at the other ends of the edges.
	hubEnds = 20
	// hubBatch is the maximum number of commands in a batch.
	hubBatch = 1000
	// commandsPerHubToggle is the approximate number of commands between two deletions or restorations
	// of the hub.
	commandsPerHubToggle = 150
)

// hub is a node with very many edges, created under load, and its actor. The actor sends no other
// commands, so that its last command is on the hub.
type hub struct {
	actor   access
	id      uuid.UUID
	batches int // number of its batches that were applied
	ends    []uuid.UUID
}

// toggleHub creates the missing part of the hub. If the hub is complete, it deletes the hub, and
// restores it the next time. The outcome is compared with the journal like that of any other
// command.
func (t *tenant) toggleHub(ctx context.Context, dice *rand.Rand) {
	for t.hub.batches*hubBatch < hubEdges {
		if roundOver(ctx) || !t.extendHub(ctx, dice) {
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
	_, _ = t.sendUntilDecided(ctx, t.hubCommand(executePath, map[string]any{"type": kind, "payload": payload}))
}

// extendHub creates a further part of the hub. It reports whether that was applied.
func (t *tenant) extendHub(ctx context.Context, dice *rand.Rand) bool {
	h := &t.hub
	var commands []any
	one := func(kind string, payload map[string]any) {
		commands = append(commands, map[string]any{"type": kind, "payload": payload})
	}
	id, ends := h.id, h.ends
	if h.batches == 0 {
		id, ends = seededID(dice), nil
		one("CREATE_NODE", t.node(id, dice))
		for range hubEnds {
			ends = append(ends, seededID(dice))
			one("CREATE_NODE", t.node(ends[len(ends)-1], dice))
		}
	}
	for range min(hubBatch-len(commands), hubEdges-h.batches*hubBatch) {
		one("CREATE_EDGE", t.edge(seededID(dice), id, ends[dice.IntN(len(ends))], dice))
	}
	a, err := t.sendUntilDecided(ctx, t.hubCommand(batchPath, map[string]any{"commands": commands}))
	if err != nil || a.Status/100 != 2 {
		return false
	}
	h.id, h.ends = id, ends
	h.batches++
	return true
}

func (t *tenant) hubCommand(path string, request map[string]any) *command {
	return &command{
		actor: t.hub.actor, path: path, body: body(request),
		key: t.newKey("hub"),
	}
}
