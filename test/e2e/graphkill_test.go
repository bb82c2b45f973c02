package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	graphClients = 64
	graphActors  = 8
)

// TestTheGraphOutlivesKills writes one workspace's graph from 64 concurrent clients of eight actors
// (commands, batches, undo and redo) while the process is killed two times, or six in make test-all.
// Every acknowledged command is applied once. Every change is in the events, once and in order, for a
// reader that resumes. The events reproduce the nodes and edges that queries return.
func TestTheGraphOutlivesKills(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Start()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	fleet := newGraphLoad(s, seed)
	reader := readEvents(s)
	defer reader.stop()

	const pause = 3 * time.Second
	fleet.start()
	for range testenv.InFull(6, 2) {
		time.Sleep(pause)
		s.Crash()
	}
	time.Sleep(pause)
	fleet.stop()

	// One more command returns the current sequence, and wakes waiting readers.
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

// commandResult is the answer to a command that changed something.
type commandResult struct {
	CommandID uuid.UUID
	Type      string
	Sequence  int64
}

// graphLoad is the clients and the answers that they received.
type graphLoad struct {
	s       *server
	keys    []string
	clients int // that send concurrently
	seed    uint64
	stopped atomic.Bool
	work    sync.WaitGroup
	refused atomic.Int64
	unknown atomic.Int64
	check   func(path string, a harness.Answer, err error) // called with every answer; may be nil

	mu      sync.Mutex
	answers []commandResult
	nodes   []uuid.UUID // some created ids, for further commands of any client
	edges   []uuid.UUID
}

func newGraphLoad(s *server, seed uint64) *graphLoad {
	f := &graphLoad{s: s, seed: seed, clients: graphClients}
	for actor := range graphActors {
		var key struct{ Key string }
		output := s.CLI("keys", "create", "--workspace", s.First.WorkspaceID, "--name", fmt.Sprintf("actor %d", actor),
			"--scope", "write:nodes", "--scope", "write:edges", "--json")
		require.NoError(s.t, json.Unmarshal([]byte(output), &key))
		f.keys = append(f.keys, key.Key)
	}
	return f
}

func (f *graphLoad) start() {
	for client := range f.clients {
		f.work.Go(func() {
			random := rand.New(rand.NewPCG(f.seed, uint64(client)))
			key := f.keys[client%len(f.keys)]
			for !f.stopped.Load() {
				f.send(key, f.command(random))
			}
		})
	}
}

func (f *graphLoad) stop() {
	f.stopped.Store(true)
	f.work.Wait()
}

// send sends a command and records the answer. After a broken connection or a 5xx the outcome is
// unknown, so nothing is expected.
func (f *graphLoad) send(key string, body map[string]any) {
	payload, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	a, err := f.s.TryAs(key, f.s.First.WorkspaceID, http.MethodPost, pathOf(body), payload)
	if f.check != nil {
		f.check(pathOf(body), a, err)
	}
	switch {
	case err != nil || a.Status >= 500:
		f.unknown.Add(1)
		time.Sleep(20 * time.Millisecond) // the server is restarting
	case a.Status/100 != 2:
		f.refused.Add(1)
	default:
		f.record(body, a.Data)
	}
}

func pathOf(body map[string]any) string {
	if body["commands"] != nil {
		return "/api/commands/batch"
	}
	return "/api/commands/execute"
}

func (f *graphLoad) record(body map[string]any, data json.RawMessage) {
	var result commandResult
	if body["commands"] != nil {
		var batch struct {
			Results []struct{ Data commandResult }
		}
		if err := json.Unmarshal(data, &batch); err != nil || len(batch.Results) == 0 {
			panic(fmt.Sprintf("a batch's answer cannot be read: %v: %s", err, data))
		}
		result = batch.Results[0].Data // all commands of an atomic batch share its id and sequence
	} else if err := json.Unmarshal(data, &result); err != nil {
		panic(fmt.Sprintf("an answer cannot be read: %v: %s", err, data))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if result.Sequence > 0 { // otherwise nothing changed
		f.answers = append(f.answers, result)
	}
}

func (f *graphLoad) answered() []commandResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers
}

// mustWrite creates a node and returns the answer.
func (f *graphLoad) mustWrite(t *testing.T) commandResult {
	var result commandResult
	f.s.Do(http.MethodPost, "/api/commands/execute", createNode(uuid.New(), "the last"), http.StatusCreated, &result)
	require.Positive(t, result.Sequence)
	return result
}

func createNode(id uuid.UUID, name string) map[string]any {
	return map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
		"id": id, "name": name, "entityType": "object", "properties": map[string]any{"a": 1},
	}}
}

// command returns a random request.
func (f *graphLoad) command(random *rand.Rand) map[string]any {
	switch roll := random.IntN(100); {
	case roll < 25:
		return createNode(f.newID(&f.nodes, random), fmt.Sprintf("node %d", random.IntN(1000)))
	case roll < 45:
		return map[string]any{"type": "UPDATE_NODE", "payload": map[string]any{
			"id":         f.existingID(&f.nodes, random),
			"properties": map[string]any{fmt.Sprintf("p%d", random.IntN(4)): random.IntN(9)},
		}}
	case roll < 62:
		return map[string]any{"type": "CREATE_EDGE", "payload": f.edge(random)}
	case roll < 68:
		return map[string]any{"type": "UPDATE_EDGE", "payload": map[string]any{
			"id": f.existingID(&f.edges, random), "relationType": fmt.Sprintf("r%d", random.IntN(3)),
		}}
	case roll < 72:
		return map[string]any{"type": "DELETE_EDGE", "payload": map[string]any{"id": f.existingID(&f.edges, random)}}
	case roll < 78:
		return map[string]any{"type": "DELETE_NODE", "payload": map[string]any{"id": f.existingID(&f.nodes, random)}}
	case roll < 83:
		return f.batch(random)
	}
	command := map[string]any{"type": []string{"UNDO", "REDO"}[random.IntN(2)]}
	if random.IntN(4) == 0 {
		command["payload"] = map[string]any{"scope": "workspace"}
	}
	return command
}

func (f *graphLoad) edge(random *rand.Rand) map[string]any {
	return map[string]any{
		"id": f.newID(&f.edges, random), "sourceId": f.existingID(&f.nodes, random),
		"targetId": f.existingID(&f.nodes, random), "relationType": "next",
	}
}

// batch returns an atomic batch that creates two nodes and an edge between them.
func (f *graphLoad) batch(random *rand.Rand) map[string]any {
	a, b := f.newID(&f.nodes, random), f.newID(&f.nodes, random)
	return map[string]any{"commands": []any{
		createNode(a, "first"), createNode(b, "second"),
		map[string]any{"type": "CREATE_EDGE", "payload": map[string]any{
			"id": f.newID(&f.edges, random), "sourceId": a, "targetId": b, "relationType": "made together",
		}},
	}}
}

// maxSharedIDs is the number of ids that the clients share. It is small so that their commands
// conflict.
const maxSharedIDs = 200

// newID creates an id and shares it with the other clients.
func (f *graphLoad) newID(ids *[]uuid.UUID, random *rand.Rand) uuid.UUID {
	id := uuid.New()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(*ids) < maxSharedIDs {
		*ids = append(*ids, id)
	} else {
		(*ids)[random.IntN(maxSharedIDs)] = id
	}
	return id
}

// existingID returns a random shared id. Its resource may have been deleted or never created.
func (f *graphLoad) existingID(ids *[]uuid.UUID, random *rand.Rand) uuid.UUID {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(*ids) == 0 {
		return uuid.New()
	}
	return (*ids)[random.IntN(len(*ids))]
}
