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

// command asks for one thing of the graph as an actor.
func (t *tenant) command(ctx context.Context, dice *rand.Rand, actor access) {
	c := t.roll(dice)
	c.actor = actor
	if c.mark == 0 || dice.IntN(5) > 0 {
		c.key = t.newKey("command")
		c.impatient = dice.IntN(8) == 0
	}
	first := t.ask(ctx, dice, c)
	if first != nil && c.key != "" && dice.IntN(12) == 0 {
		t.repeat(ctx, dice, c, first)
	}
}

// newKey returns an Idempotency-Key that no other request has.
func (t *tenant) newKey(of string) string {
	return fmt.Sprintf("%s-%s-%d-%d", t.canary, of, t.load.round, t.load.tick())
}

// roll makes up a command.
func (t *tenant) roll(dice *rand.Rand) *command {
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
		node := t.node(g.remember(&g.nodes, dice), dice)
		node["name"] = fmt.Sprint(node["name"], " ", refusable)
		c := marked("CREATE_NODE", node)
		c.refusable = true
		return c
	case roll < 26:
		return marked("CREATE_NODE", t.node(g.remember(&g.nodes, dice), dice))
	case roll < 44:
		return marked("UPDATE_NODE", map[string]any{"id": g.pick(&g.nodes, dice)})
	case roll < 48: // so that a name is found that was not there before
		return one("UPDATE_NODE", map[string]any{"id": g.pick(&g.nodes, dice), "name": t.name(dice), "description": nil})
	case roll < 52:
		return &command{path: executePath, body: body(map[string]any{
			"type": "UPDATE_NODE", "expectedVersion": 1 + dice.IntN(3),
			"payload": map[string]any{"id": g.pick(&g.nodes, dice), "entityType": entityType(dice)},
		})}
	case roll < 66:
		return marked("CREATE_EDGE", t.edge(g.remember(&g.edges, dice), g.pick(&g.nodes, dice), g.pick(&g.nodes, dice), dice))
	case roll < 70:
		return one("UPDATE_EDGE", map[string]any{
			"id": g.pick(&g.edges, dice), "relationType": fmt.Sprintf("r%d %s", dice.IntN(3), t.canary),
		})
	case roll < 73:
		return one("DELETE_EDGE", map[string]any{"id": g.pick(&g.edges, dice)})
	case roll < 79:
		return one("DELETE_NODE", map[string]any{"id": g.pick(&g.nodes, dice)})
	case roll < 87:
		return t.batch(dice)
	}
	payload := map[string]any{"scope": "mine"}
	if t.index%2 == 1 { // elsewhere nobody takes back what the solo actor did
		payload["scope"] = []string{"mine", "mine", "workspace"}[dice.IntN(3)]
	}
	return one([]string{"UNDO", "UNDO", "REDO"}[dice.IntN(3)], payload)
}

// name makes the name of a node, with a word that no other has.
func (t *tenant) name(dice *rand.Rand) string {
	return fmt.Sprintf("%s pump %s", t.canary, word(dice))
}

// word makes a word that is met once.
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

func (t *tenant) edge(id, from, to uuid.UUID, dice *rand.Rand) map[string]any {
	return map[string]any{
		"id": id, "sourceId": from, "targetId": to, "relationType": fmt.Sprintf("r%d %s", dice.IntN(3), t.canary),
	}
}

// batch makes nodes and edges between them: of one that is not atomic some fail.
func (t *tenant) batch(dice *rand.Rand) *command {
	g := &t.graph
	first, second := g.remember(&g.nodes, dice), g.remember(&g.nodes, dice)
	commands := []any{
		map[string]any{"type": "CREATE_NODE", "payload": t.node(first, dice)},
		map[string]any{"type": "CREATE_NODE", "payload": t.node(second, dice)},
		map[string]any{"type": "CREATE_EDGE", "payload": t.edge(g.remember(&g.edges, dice), first, second, dice)},
		map[string]any{"type": "CREATE_EDGE", "payload": t.edge(
			g.remember(&g.edges, dice), second, g.pick(&g.nodes, dice), dice,
		)},
	}
	if dice.IntN(4) == 0 {
		commands = append(commands, map[string]any{"type": "DELETE_NODE", "payload": map[string]any{"id": first}})
	}
	return &command{path: batchPath, body: body(map[string]any{"atomic": dice.IntN(3) > 0, "commands": commands})}
}

// ask sends a command until it is answered or given up, and notes what came of it. What
// it gives is the answer, nil if there is none.
func (t *tenant) ask(ctx context.Context, dice *rand.Rand, c *command) *answer {
	tries := 1
	if c.key != "" {
		tries = 1 + dice.IntN(mostTries)
	}
	id := uuid.Nil
	for n := range tries {
		a, err := t.load.client.do(ctx, c.call())
		if !unknown(a, err) {
			t.decided(c, a)
			return a
		}
		if err == nil {
			id = commandOf(a)
		}
		if n+1 < tries && !rest(ctx, time.Duration(20<<n)*time.Millisecond) {
			break
		}
	}
	t.graph.leaveOpen(c)
	if id != uuid.Nil && c.key == "" {
		t.await(ctx, id)
	}
	return nil
}

// commandOf returns the id that an answer names which does not know the outcome.
func commandOf(a *answer) uuid.UUID {
	text, _ := a.Error.Details["commandId"].(string)
	id, _ := uuid.Parse(text)
	return id
}

// decided notes an answer that says what came of a command.
func (t *tenant) decided(c *command, a *answer) {
	if a.Status/100 != 2 {
		if !slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, a.Status) {
			t.load.wrong.add(
				4, "a command is answered as none should be", "%s %s: %d %s", c.body, a.RequestID, a.Status, a.Error.Message,
			)
		}
		return
	}
	var said answered
	if err := a.into(&said); err != nil {
		t.load.wrong.add(4, "the answer to a command cannot be read", "%v", err)
		return
	}
	t.graph.enter(said.all())
}

// state is the answer to the question what came of a command.
type state struct {
	Status string
	Result *answered
	Error  *struct{ Code, Message string }
}

// neverInLog is the message of a command that is settled to have no effect, because its
// record did not reach the log.
const neverInLog = "The command did not reach the log: send it again"

// await asks once what came of a command that was answered with its id alone. It may be
// asked again when the round is over: see resolve.
func (t *tenant) await(ctx context.Context, id uuid.UUID) {
	s, err := t.fate(ctx, id)
	if err != nil {
		return
	}
	t.graph.mu.Lock()
	defer t.graph.mu.Unlock()
	switch {
	case s.Status == "applied" && s.Result != nil && s.Result.Sequence != nil:
		t.graph.applied[id] = *s.Result.Sequence
	case s.Status == "failed" && s.Error != nil && (s.Error.Code != "INTERNAL_ERROR" || s.Error.Message == neverInLog):
		t.graph.failed[id] = s.Error.Message // else it is a dead letter, and may be put back
	}
}

// fate asks what came of a command.
func (t *tenant) fate(ctx context.Context, id uuid.UUID) (s state, err error) {
	a, err := t.load.client.do(ctx, call{key: t.actors[0], method: http.MethodGet, path: "/api/commands/" + id.String()})
	switch {
	case err != nil:
		return s, err
	case a.Status != http.StatusOK:
		return s, fmt.Errorf("%w: command %s: %d %s", errRefused, id, a.Status, a.Error.Message)
	}
	return s, a.into(&s)
}

// repeat sends a command again that was answered: with the same key the same answer
// comes, with another body a refusal.
func (t *tenant) repeat(ctx context.Context, dice *rand.Rand, c *command, first *answer) {
	again := *c
	other := dice.IntN(3) == 0
	if other {
		again.body = append(slices.Clone(c.body), ' ')
	}
	a, err := t.load.client.do(ctx, again.call())
	if unknown(a, err) {
		return
	}
	kept := first.Status/100 == 2 || slices.Contains([]int{404, 409, 422}, first.Status)
	switch {
	case !kept:
	case other && a.Status != http.StatusUnprocessableEntity:
		t.load.wrong.add(
			4, "a key is taken for a request that it is not of", "%s: %d, after %s", a.RequestID, a.Status, first.RequestID,
		)
	case !other && (a.Status != first.Status || a.Header.Get("Idempotent-Replayed") != "true"):
		t.load.wrong.add(
			4, "a request that is repeated with its key is answered otherwise", "%s: %d %s, replayed %q; first %s: %d",
			a.RequestID, a.Status, clip(a.Body), a.Header.Get("Idempotent-Replayed"), first.RequestID, first.Status,
		)
	case !other && a.Status/100 == 2 && string(a.Data) != string(first.Data):
		t.load.wrong.add(
			4, "a request that is repeated with its key has another outcome", "%s: %s; first %s: %s", a.RequestID, clip(a.Data),
			first.RequestID, clip(first.Data),
		)
	}
}
