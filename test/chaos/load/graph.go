package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	executePath = "/api/commands/execute"
	batchPath   = "/api/commands/batch"
)

// command sends a random command as an actor.
func (t *tenant) command(ctx context.Context, dice *rand.Rand, actor access) {
	c := t.randomCommand(dice)
	c.actor = actor
	if c.mark == 0 || dice.IntN(5) > 0 {
		c.key = t.newKey("command")
		c.noWait = dice.IntN(8) == 0
	}
	first := t.sendCommand(ctx, dice, c)
	if first != nil && c.key != "" && dice.IntN(12) == 0 {
		t.resend(ctx, dice, c, first)
	}
}

// newKey returns a unique Idempotency-Key.
func (t *tenant) newKey(purpose string) string {
	return fmt.Sprintf("%s-%s-%d-%d", t.canary, purpose, t.load.round, t.load.tick())
}

// randomCommand returns a random command.
func (t *tenant) randomCommand(dice *rand.Rand) *command {
	g := &t.graph
	one := func(kind string, payload map[string]any) *command {
		return &command{path: executePath, body: body(map[string]any{"type": kind, "payload": payload})}
	}
	marked := func(kind string, payload map[string]any) *command {
		mark := t.load.tick()
		payload["properties"] = map[string]any{
			"mark": mark, t.canary: t.canary, fmt.Sprintf("p%d", dice.IntN(4)): dice.IntN(9),
		}
		c := one(kind, payload)
		c.mark = mark
		return c
	}
	switch roll := dice.IntN(100); {
	case roll < 4:
		node := t.node(g.addID(&g.nodes, dice), dice)
		node["name"] = fmt.Sprint(node["name"], " ", refusable)
		c := marked("CREATE_NODE", node)
		c.refusable = true
		return c
	case roll < 26:
		return marked("CREATE_NODE", t.node(g.addID(&g.nodes, dice), dice))
	case roll < 44:
		return marked("UPDATE_NODE", map[string]any{"id": g.pickID(&g.nodes, dice)})
	case roll < 48: // so that search finds a name that did not exist before
		return one("UPDATE_NODE", map[string]any{"id": g.pickID(&g.nodes, dice), "name": t.name(dice), "description": nil})
	case roll < 52:
		return &command{path: executePath, body: body(map[string]any{
			"type": "UPDATE_NODE", "expectedVersion": 1 + dice.IntN(3),
			"payload": map[string]any{"id": g.pickID(&g.nodes, dice), "entityType": entityType(dice)},
		})}
	case roll < 66:
		return marked("CREATE_EDGE", t.edge(
			g.addID(&g.edges, dice), g.pickID(&g.nodes, dice), g.pickID(&g.nodes, dice), dice,
		))
	case roll < 70:
		return one("UPDATE_EDGE", map[string]any{
			"id": g.pickID(&g.edges, dice), "relationType": fmt.Sprintf("r%d %s", dice.IntN(3), t.canary),
		})
	case roll < 73:
		return one("DELETE_EDGE", map[string]any{"id": g.pickID(&g.edges, dice)})
	case roll < 79:
		return one("DELETE_NODE", map[string]any{"id": g.pickID(&g.nodes, dice)})
	case roll < 87:
		return t.batch(dice)
	case roll < 91:
		return marked("UPSERT_NODE", t.upsert(dice))
	}
	payload := map[string]any{"scope": "mine"}
	if t.index%2 == 1 { // in the other workspaces nobody undoes the commands of the solo actor
		payload["scope"] = []string{"mine", "mine", "workspace"}[dice.IntN(3)]
	}
	return one([]string{"UNDO", "UNDO", "REDO"}[dice.IntN(3)], payload)
}

// name returns a name for a node, with a unique word.
func (t *tenant) name(dice *rand.Rand) string {
	return fmt.Sprintf("%s pump %s", t.canary, word(dice))
}

// word returns a random word.
func word(dice *rand.Rand) string {
	const letters = "bcdfghklmnprstvz"
	text := make([]byte, 14)
	for i := range text {
		text[i] = letters[dice.IntN(len(letters))]
	}
	return "w" + string(text)
}

func entityType(dice *rand.Rand) string {
	return []string{"concept", "object", "process", "actor"}[dice.IntN(4)]
}

func (t *tenant) node(id uuid.UUID, dice *rand.Rand) map[string]any {
	return map[string]any{
		"id": id, "name": t.name(dice), "entityType": entityType(dice), "description": "found by " + t.canary,
	}
}

// upsertProperty is the key of all upserts. No other command writes it.
const upsertProperty = "upsert"

func (t *tenant) upsert(dice *rand.Rand) map[string]any {
	return map[string]any{
		"key": map[string]any{upsertProperty: fmt.Sprintf("%s-%d", t.canary, dice.IntN(30))}, "entityType": entityType(dice),
		"name": t.name(dice),
	}
}

func (t *tenant) edge(id, from, to uuid.UUID, dice *rand.Rand) map[string]any {
	return map[string]any{
		"id": id, "sourceId": from, "targetId": to, "relationType": fmt.Sprintf("r%d %s", dice.IntN(3), t.canary),
	}
}

// batch returns a batch that creates nodes and edges between them. Some commands fail in a batch
// that is not atomic.
func (t *tenant) batch(dice *rand.Rand) *command {
	g := &t.graph
	first, second := g.addID(&g.nodes, dice), g.addID(&g.nodes, dice)
	commands := []any{
		map[string]any{"type": "CREATE_NODE", "payload": t.node(first, dice)},
		map[string]any{"type": "CREATE_NODE", "payload": t.node(second, dice)},
		map[string]any{"type": "CREATE_EDGE", "payload": t.edge(g.addID(&g.edges, dice), first, second, dice)},
		map[string]any{"type": "CREATE_EDGE", "payload": t.edge(
			g.addID(&g.edges, dice), second, g.pickID(&g.nodes, dice), dice,
		)},
	}
	if dice.IntN(4) == 0 {
		commands = append(commands, map[string]any{"type": "DELETE_NODE", "payload": map[string]any{"id": first}})
	}
	return &command{path: batchPath, body: body(map[string]any{"atomic": dice.IntN(3) > 0, "commands": commands})}
}

// sendCommand sends a command until it is answered or retries end, and records the outcome. It
// returns the answer, nil if there is none.
func (t *tenant) sendCommand(ctx context.Context, dice *rand.Rand, c *command) *answer {
	tries := 1
	if c.key != "" {
		tries = 1 + dice.IntN(maxTries)
	}
	id := uuid.Nil
	for n := range tries {
		a, err := t.load.client.do(ctx, c.call())
		if !outcomeUnknown(a, err) {
			t.recordAnswer(c, a)
			return a
		}
		if err == nil {
			id = commandOf(a)
		}
		if n+1 < tries && !sleep(ctx, time.Duration(20<<n)*time.Millisecond) {
			break
		}
	}
	t.graph.addOpen(c)
	if id != uuid.Nil && c.key == "" {
		t.recordState(ctx, id)
	}
	return nil
}

// commandOf returns the command id in an answer that leaves the outcome open.
func commandOf(a *answer) uuid.UUID {
	text, _ := a.Error.Details["commandId"].(string)
	id, _ := uuid.Parse(text)
	return id
}

// recordAnswer records the outcome of a command.
func (t *tenant) recordAnswer(c *command, a *answer) {
	if a.Status/100 != 2 {
		if !slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, a.Status) {
			t.load.findings.add(
				4, "a command is answered as none should be", "%s %s: %d %s", c.body, a.RequestID, a.Status, a.Error.Message,
			)
		}
		return
	}
	var reply commandAnswer
	if err := a.decodeData(&reply); err != nil {
		t.load.findings.add(4, "the answer to a command cannot be read", "%v", err)
		return
	}
	t.graph.recordApplied(reply.all())
}

// commandState is the API's answer to a query for the outcome of a command.
type commandState struct {
	Status string
	Result *commandAnswer
	Error  *struct{ Code, Message string }
}

// neverInLog is the error message of a command that has no effect because its record did not reach
// the log.
const neverInLog = "The command did not reach the log: send it again"

// recordState queries once for the outcome of a command that was answered with its id alone, and
// records it.
func (t *tenant) recordState(ctx context.Context, id uuid.UUID) {
	s, err := t.readState(ctx, id)
	if err != nil {
		return
	}
	t.graph.mu.Lock()
	defer t.graph.mu.Unlock()
	switch {
	case s.Status == "applied" && s.Result != nil && s.Result.Sequence != nil:
		t.graph.applied[id] = *s.Result.Sequence
	case s.Status == "failed" && s.Error != nil && (s.Error.Code != "INTERNAL_ERROR" || s.Error.Message == neverInLog):
		t.graph.failed[id] = s.Error.Message // otherwise it is a dead letter, which may be redriven
	}
}

// readState queries for the outcome of a command.
func (t *tenant) readState(ctx context.Context, id uuid.UUID) (s commandState, err error) {
	a, err := t.load.client.do(ctx, call{key: t.actors[0], method: http.MethodGet, path: "/api/commands/" + id.String()})
	switch {
	case err != nil:
		return s, err
	case a.Status != http.StatusOK:
		return s, fmt.Errorf("%w: command %s: %d %s", errRefused, id, a.Status, a.Error.Message)
	}
	return s, a.decodeData(&s)
}

// resend sends a command again that was answered: with the same key the answer must be the same,
// and with another body an error.
func (t *tenant) resend(ctx context.Context, dice *rand.Rand, c *command, first *answer) {
	again := *c
	changeBody := dice.IntN(3) == 0
	if changeBody {
		again.body = append(slices.Clone(c.body), ' ')
	}
	a, err := t.load.client.do(ctx, again.call())
	if outcomeUnknown(a, err) {
		return
	}
	remembered := first.Status/100 == 2 || slices.Contains([]int{404, 409, 422}, first.Status)
	switch {
	case !remembered:
	case changeBody && a.Status != http.StatusUnprocessableEntity:
		t.load.findings.add(
			4, "a key is taken for a request that it is not of", "%s: %d, after %s", a.RequestID, a.Status, first.RequestID,
		)
	case !changeBody && (a.Status != first.Status || a.Header.Get("Idempotent-Replayed") != "true"):
		t.load.findings.add(
			4, "a request that is repeated with its key is answered otherwise", "%s: %d %s, replayed %q; first %s: %d",
			a.RequestID, a.Status, clip(a.Body), a.Header.Get("Idempotent-Replayed"), first.RequestID, first.Status,
		)
	case !changeBody && a.Status/100 == 2 && string(a.Data) != string(first.Data):
		t.load.findings.add(
			4, "a request that is repeated with its key has another outcome", "%s: %s; first %s: %s", a.RequestID, clip(a.Data),
			first.RequestID, clip(first.Data),
		)
	}
}
