package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

const (
	graphClients = 64
	graphActors  = 8
	graphKills   = 5
)

// graphKillTime is how long the clients write: 20 s, or LIVEGRAPH_GRAPH_SECONDS.
func graphKillTime(t *testing.T) time.Duration {
	text := os.Getenv("LIVEGRAPH_GRAPH_SECONDS")
	if text == "" {
		return 20 * time.Second
	}
	seconds, err := time.ParseDuration(text + "s")
	require.NoError(t, err)
	return seconds
}

// TestTheGraphOutlivesKills writes one workspace's graph from 64 clients of eight
// actors at a time (commands, batches, undo and redo) while the process is killed
// five times. What was answered must have happened, once; what happened must be in
// the events, once and in order, for a reader that resumes; and the events must add
// up to the nodes and edges that the reads give.
func TestTheGraphOutlivesKills(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	fleet := newGraphFleet(s, seed)
	reader := readEvents(s)
	defer reader.stop()

	took := graphKillTime(t)
	fleet.start()
	for range graphKills {
		time.Sleep(took / (graphKills + 1))
		s.Crash()
	}
	time.Sleep(took / (graphKills + 1))
	fleet.stop()

	// One more command reports how far the journal is, and wakes anyone who sleeps.
	last := fleet.mustWrite(t)
	reader.waitFor(t, last.Sequence)
	require.Empty(t, reader.violations(), "events come once and in order")
	reader.compareAnswers(t, fleet.answered())
	t.Logf(
		"%d answered, %d refused, %d unanswered; %d changes", len(fleet.answered()), fleet.refused.Load(),
		fleet.unknown.Load(), last.Sequence,
	)
	require.Greater(t, len(fleet.answered()), 500, "the clients got something done")
	compareGraphs(t, reader.fold(), listGraph(s))
}

// applied is the answer of a command that changed something.
type applied struct {
	CommandID uuid.UUID
	Type      string
	Sequence  int64
}

// graphFleet is the clients, and what they were answered.
type graphFleet struct {
	s       *server
	keys    []string
	seed    uint64
	stopped atomic.Bool
	work    sync.WaitGroup
	refused atomic.Int64
	unknown atomic.Int64
	judge   func(path string, a harness.Answer, err error) // hears of every answer; may be nil

	mu      sync.Mutex
	answers []applied
	nodes   []uuid.UUID // some that were made, to be written again by anybody
	edges   []uuid.UUID
}

func newGraphFleet(s *server, seed uint64) *graphFleet {
	f := &graphFleet{s: s, seed: seed}
	for actor := range graphActors {
		var key struct{ Key string }
		output := s.CLI("keys", "create", "--workspace", s.First.WorkspaceID, "--name", fmt.Sprintf("actor %d", actor),
			"--scope", "write:nodes", "--scope", "write:edges", "--json")
		require.NoError(s.t, json.Unmarshal([]byte(output), &key))
		f.keys = append(f.keys, key.Key)
	}
	return f
}

func (f *graphFleet) start() {
	for client := range graphClients {
		f.work.Go(func() {
			dice := rand.New(rand.NewPCG(f.seed, uint64(client)))
			key := f.keys[client%len(f.keys)]
			for !f.stopped.Load() {
				f.send(key, f.command(dice))
			}
		})
	}
}

func (f *graphFleet) stop() {
	f.stopped.Store(true)
	f.work.Wait()
}

// send asks for a command and keeps the answer. A connection that broke and a 5xx
// leave open what happened: nothing is expected then.
func (f *graphFleet) send(key string, body map[string]any) {
	payload, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	a, err := f.s.TryAs(key, f.s.First.WorkspaceID, http.MethodPost, pathOf(body), payload)
	if f.judge != nil {
		f.judge(pathOf(body), a, err)
	}
	switch {
	case err != nil || a.Status >= 500:
		f.unknown.Add(1)
		time.Sleep(20 * time.Millisecond) // it is starting again
	case a.Status/100 != 2:
		f.refused.Add(1)
	default:
		f.keep(body, a.Data)
	}
}

func pathOf(body map[string]any) string {
	if body["commands"] != nil {
		return "/api/commands/batch"
	}
	return "/api/commands/execute"
}

func (f *graphFleet) keep(body map[string]any, data json.RawMessage) {
	var one applied
	if body["commands"] != nil {
		var batch struct {
			Results []struct{ Data applied }
		}
		if err := json.Unmarshal(data, &batch); err != nil || len(batch.Results) == 0 {
			panic(fmt.Sprintf("a batch's answer cannot be read: %v: %s", err, data))
		}
		one = batch.Results[0].Data // all of an atomic batch have its id and sequence
	} else if err := json.Unmarshal(data, &one); err != nil {
		panic(fmt.Sprintf("an answer cannot be read: %v: %s", err, data))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.Sequence > 0 { // else nothing changed
		f.answers = append(f.answers, one)
	}
}

func (f *graphFleet) answered() []applied {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers
}

// mustWrite makes a node, and gives the answer.
func (f *graphFleet) mustWrite(t *testing.T) applied {
	var one applied
	f.s.Do(http.MethodPost, "/api/commands/execute", createNode(uuid.New(), "the last"), http.StatusCreated, &one)
	require.Positive(t, one.Sequence)
	return one
}

func createNode(id uuid.UUID, name string) map[string]any {
	return map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
		"id": id, "name": name, "entityType": "object", "properties": map[string]any{"a": 1},
	}}
}

// command rolls the dice for a request.
func (f *graphFleet) command(dice *rand.Rand) map[string]any {
	switch roll := dice.IntN(100); {
	case roll < 25:
		return createNode(f.remember(&f.nodes, dice), fmt.Sprintf("node %d", dice.IntN(1000)))
	case roll < 45:
		return map[string]any{"type": "UPDATE_NODE", "payload": map[string]any{
			"id": f.pick(&f.nodes, dice), "properties": map[string]any{fmt.Sprintf("p%d", dice.IntN(4)): dice.IntN(9)},
		}}
	case roll < 62:
		return map[string]any{"type": "CREATE_EDGE", "payload": f.edge(dice)}
	case roll < 68:
		return map[string]any{"type": "UPDATE_EDGE", "payload": map[string]any{
			"id": f.pick(&f.edges, dice), "relationType": fmt.Sprintf("r%d", dice.IntN(3)),
		}}
	case roll < 72:
		return map[string]any{"type": "DELETE_EDGE", "payload": map[string]any{"id": f.pick(&f.edges, dice)}}
	case roll < 78:
		return map[string]any{"type": "DELETE_NODE", "payload": map[string]any{"id": f.pick(&f.nodes, dice)}}
	case roll < 83:
		return f.batch(dice)
	}
	command := map[string]any{"type": []string{"UNDO", "REDO"}[dice.IntN(2)]}
	if dice.IntN(4) == 0 {
		command["payload"] = map[string]any{"scope": "workspace"}
	}
	return command
}

func (f *graphFleet) edge(dice *rand.Rand) map[string]any {
	return map[string]any{
		"id": f.remember(&f.edges, dice), "sourceId": f.pick(&f.nodes, dice), "targetId": f.pick(&f.nodes, dice),
		"relationType": "next",
	}
}

// batch makes two nodes and an edge between them, all or nothing.
func (f *graphFleet) batch(dice *rand.Rand) map[string]any {
	a, b := f.remember(&f.nodes, dice), f.remember(&f.nodes, dice)
	return map[string]any{"commands": []any{
		createNode(a, "first"), createNode(b, "second"),
		map[string]any{"type": "CREATE_EDGE", "payload": map[string]any{
			"id": f.remember(&f.edges, dice), "sourceId": a, "targetId": b, "relationType": "made together",
		}},
	}}
}

// keptIDs is how many ids the clients share: few, so that they get into each
// other's way.
const keptIDs = 200

// remember makes an id and puts it where the others find it.
func (f *graphFleet) remember(ids *[]uuid.UUID, dice *rand.Rand) uuid.UUID {
	id := uuid.New()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(*ids) < keptIDs {
		*ids = append(*ids, id)
	} else {
		(*ids)[dice.IntN(keptIDs)] = id
	}
	return id
}

// pick returns the id of something that was asked for, whatever became of it.
func (f *graphFleet) pick(ids *[]uuid.UUID, dice *rand.Rand) uuid.UUID {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(*ids) == 0 {
		return uuid.New()
	}
	return (*ids)[dice.IntN(len(*ids))]
}
