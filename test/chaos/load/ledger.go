package load

import (
	"encoding/json"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"
)

// keptIDs is how many ids of nodes, and of edges, the actors of a workspace share: few,
// so that they get into each other's way.
const keptIDs = 60

// ledger is what was asked of a workspace's graph since the last check, and what came
// of it.
type ledger struct {
	mu sync.Mutex
	// applied has the commands that were answered, or found, to have changed something:
	// the sequence by the command's id.
	applied map[uuid.UUID]int64
	// depths are those of the stacks that came with the answers.
	depths map[uuid.UUID]depths
	// failed has those that were refused, with the reason. Of them nothing may be there.
	failed map[uuid.UUID]string
	// unchanged has those that were applied and changed nothing.
	unchanged map[uuid.UUID]bool
	// open are requests with an Idempotency-Key of which it is not known what came.
	open []*command
	// loose are the marks of requests without one of which that is not known: each may be
	// in the journal, once.
	loose map[int64]bool

	nodes, edges []uuid.UUID // some that were asked for, to be used again by anybody
}

// command is a request to change the graph.
type command struct {
	actor access
	path  string
	body  []byte
	key   string // empty: none
	mark  int64  // in the properties of what it writes; 0: none
	// impatient says not to wait for what comes of it: it is mostly sent again before it
	// is decided, and so is in the log more than once.
	impatient bool
	refusable bool // see the constant
}

func (g *ledger) init() {
	g.applied, g.failed = map[uuid.UUID]int64{}, map[uuid.UUID]string{}
	g.unchanged, g.loose = map[uuid.UUID]bool{}, map[int64]bool{}
	g.depths = map[uuid.UUID]depths{}
}

// call makes the request of a command.
func (c *command) call() call {
	q := call{
		key: c.actor, method: "POST", path: c.path, body: c.body, header: map[string]string{}, refusable: c.refusable,
	}
	if c.key != "" {
		q.header[idempotencyKey] = c.key
	}
	if c.impatient {
		q.header["Prefer"] = "wait=0"
	}
	return q
}

// done is what a command that was applied is answered.
type done struct {
	CommandID uuid.UUID
	Type      string
	Sequence  *int64
	Node      *resource
	Edge      *resource
	UndoDepth int
	RedoDepth int
}

// resource is a node or an edge as the API shows it.
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

// answered is any answer to a command or a batch.
type answered struct {
	done
	BatchID uuid.UUID
	Results []struct {
		Status string
		Data   *done
		Error  *struct{ Code string }
	}
}

// all returns each command of an answer that was applied.
func (a *answered) all() []done {
	if a.BatchID == uuid.Nil {
		return []done{a.done}
	}
	var list []done
	for _, r := range a.Results {
		if r.Data != nil {
			list = append(list, *r.Data)
		}
	}
	return list
}

// enter notes commands that were applied.
func (g *ledger) enter(commands []done) {
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

// takeDepths returns the depths that were answered.
func (g *ledger) takeDepths() map[uuid.UUID]depths {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.depths
	g.depths = map[uuid.UUID]depths{}
	return taken
}

// leaveOpen notes a command of which it is not known what came of it.
func (g *ledger) leaveOpen(c *command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.key != "" {
		g.open = append(g.open, c)
	} else {
		g.loose[c.mark] = true
	}
}

// takeOpen returns the open commands, to be resolved.
func (g *ledger) takeOpen() []*command {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.open
	g.open = nil
	return list
}

// remember makes an id and puts it where the others find it.
func (g *ledger) remember(ids *[]uuid.UUID, dice *rand.Rand) uuid.UUID {
	id := seededID(dice)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(*ids) < keptIDs {
		*ids = append(*ids, id)
	} else {
		(*ids)[dice.IntN(keptIDs)] = id
	}
	return id
}

// pick returns the id of something that was asked for, whatever became of it.
func (g *ledger) pick(ids *[]uuid.UUID, dice *rand.Rand) uuid.UUID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(*ids) == 0 {
		return seededID(dice)
	}
	return (*ids)[dice.IntN(len(*ids))]
}
