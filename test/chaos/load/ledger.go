package load

import (
	"encoding/json"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"
)

// maxIDs is the number of node ids, and of edge ids, that the actors of a workspace share. It is
// low, so that they change the same nodes and edges.
const maxIDs = 60

// ledger contains the requests to change a workspace's graph since the last check, and their
// outcomes.
type ledger struct {
	mu sync.Mutex
	// applied contains the commands that had an effect, as was answered or found out: the sequence by
	// command id.
	applied map[uuid.UUID]int64
	// depths contains the answered depths of the undo and redo stacks, by command id.
	depths map[uuid.UUID]depths
	// failed contains the reasons of the commands that were refused. They must not have an effect.
	failed map[uuid.UUID]string
	// unchanged contains the commands that were applied without changing anything.
	unchanged map[uuid.UUID]bool
	// open contains the requests with an Idempotency-Key whose outcome is unknown.
	open []*command
	// unkeyed contains the marks of requests without an Idempotency-Key whose outcome is unknown: each
	// may be in the journal once.
	unkeyed map[int64]bool

	nodes, edges []uuid.UUID // shared by the actors; some may not exist
}

// command is a request to change the graph.
type command struct {
	actor access
	path  string
	body  []byte
	key   string // empty: none
	mark  int64  // in the properties of the node or edge; 0: none
	// noWait means that the request does not wait for the outcome: it is usually sent again before the
	// command is decided, and so is in the log more than once.
	noWait    bool
	refusable bool // see the constant
}

func (g *ledger) init() {
	g.applied, g.failed = map[uuid.UUID]int64{}, map[uuid.UUID]string{}
	g.unchanged, g.unkeyed = map[uuid.UUID]bool{}, map[int64]bool{}
	g.depths = map[uuid.UUID]depths{}
}

// call returns the request of the command.
func (c *command) call() call {
	q := call{
		key: c.actor, method: "POST", path: c.path, body: c.body, header: map[string]string{}, refusable: c.refusable,
	}
	if c.key != "" {
		q.header[idempotencyKey] = c.key
	}
	if c.noWait {
		q.header["Prefer"] = "wait=0"
	}
	return q
}

// appliedCommand is the answer to a command that was applied.
type appliedCommand struct {
	CommandID uuid.UUID
	Type      string
	Sequence  *int64
	Node      *resource
	Edge      *resource
	UndoDepth int
	RedoDepth int
}

// resource is a node or an edge in an answer of the API.
type resource struct {
	ID          uuid.UUID
	Name        string
	EntityType  string
	Description *string
	SourceID    uuid.UUID
	TargetID    uuid.UUID

	RelationType string
	Properties   json.RawMessage
	Version      int64
	Deleted      bool
}

// commandAnswer is the answer to a command or to a batch.
type commandAnswer struct {
	appliedCommand
	BatchID uuid.UUID
	Results []struct {
		Status string
		Data   *appliedCommand
		Error  *struct{ Code string }
	}
}

// all returns the commands of the answer that were applied.
func (a *commandAnswer) all() []appliedCommand {
	if a.BatchID == uuid.Nil {
		return []appliedCommand{a.appliedCommand}
	}
	var list []appliedCommand
	for _, r := range a.Results {
		if r.Data != nil {
			list = append(list, *r.Data)
		}
	}
	return list
}

// recordApplied records commands that were applied.
func (g *ledger) recordApplied(commands []appliedCommand) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range commands {
		if c.Sequence == nil {
			g.unchanged[c.CommandID] = true
		} else {
			g.applied[c.CommandID] = *c.Sequence
			g.depths[c.CommandID] = depths{c.UndoDepth, c.RedoDepth}
		}
	}
}

// drainDepths returns the answered depths and removes them.
func (g *ledger) drainDepths() map[uuid.UUID]depths {
	g.mu.Lock()
	defer g.mu.Unlock()
	depthsByCommand := g.depths
	g.depths = map[uuid.UUID]depths{}
	return depthsByCommand
}

// addOpen adds a command whose outcome is unknown.
func (g *ledger) addOpen(c *command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.key != "" {
		g.open = append(g.open, c)
	} else {
		g.unkeyed[c.mark] = true
	}
}

// drainOpen returns the open commands and removes them.
func (g *ledger) drainOpen() []*command {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.open
	g.open = nil
	return list
}

// addID creates an id and shares it with the other actors.
func (g *ledger) addID(ids *[]uuid.UUID, dice *rand.Rand) uuid.UUID {
	id := seededID(dice)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(*ids) < maxIDs {
		*ids = append(*ids, id)
	} else {
		(*ids)[dice.IntN(maxIDs)] = id
	}
	return id
}

// pickID returns a random shared id, which may not exist.
func (g *ledger) pickID(ids *[]uuid.UUID, dice *rand.Rand) uuid.UUID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(*ids) == 0 {
		return seededID(dice)
	}
	return (*ids)[dice.IntN(len(*ids))]
}
