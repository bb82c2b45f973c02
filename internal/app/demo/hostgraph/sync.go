package hostgraph

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
)

const (
	// readInterval is the time after which the graph is read again, because others may have changed it.
	readInterval = 5 * time.Minute
	// maxRefusals is how many consecutive Syncs with refusals cause the graph to be read again at once. After
	// further ones it is read after readInterval.
	maxRefusals = 5
	// maxCommands bounds the commands of one Sync, so that processes that come and go do not fill the journal.
	maxCommands = 4000
)

// server is the part of the client that a syncer uses.
type server interface {
	EachNode(ctx context.Context, f client.Filter, visit func(client.Node) error) error
	EachEdge(ctx context.Context, f client.Filter, visit func(client.Edge) error) error
	Batch(ctx context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error)
}

// Syncer keeps an owner's part of the graph equal to a desired state. It is not safe for concurrent use.
type Syncer struct {
	server   server
	owner    string
	observed *observed
	read     time.Time // zero: the observed state may be wrong
	refusals int
	salt     string // of the ids; the id of a deleted resource cannot be used again
}

// NewSyncer creates a syncer for an owner. A later syncer with the same owner continues its work.
func NewSyncer(s *client.Client, owner string) *Syncer {
	return &Syncer{server: s, owner: owner, observed: newObserved()}
}

// Report is the result of a Sync.
type Report struct {
	Nodes, Edges int // that exist
	Applied      int // commands
	Refused      int // commands; the next Sync retries them
	Left         int // commands beyond the limit of one Sync
}

// ID returns the id of the node with a key.
func (s *Syncer) ID(key string) (uuid.UUID, bool) {
	n, ok := s.observed.nodes[key]
	return n.ID, ok
}

// Keys returns the keys of the existing nodes of a kind, sorted.
func (s *Syncer) Keys(kind string) (keys []string) {
	for key, n := range s.observed.nodes {
		if textOf(n.Properties[kindName]) == kind {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Sync makes the graph equal to the desired state. If it fails, the changes until then remain and the next Sync
// continues.
func (s *Syncer) Sync(ctx context.Context, desired State) (r Report, err error) {
	defer func() { r.Nodes, r.Edges = len(s.observed.nodes), len(s.observed.edges) }()
	if time.Since(s.read) > readInterval {
		if err := s.load(ctx); err != nil {
			return r, fmt.Errorf("reading the graph: %w", err)
		}
		s.read = time.Now()
	}
	steps := diff(desired, s.observed, s.owner, s.newID)
	r.Left = max(0, len(steps)-maxCommands)
	for batch := range slices.Chunk(steps[:len(steps)-r.Left], client.MaxBatch) {
		commands := make([]client.Command, len(batch))
		for i, step := range batch {
			commands[i] = step.command
		}
		answer, err := s.server.Batch(ctx, commands, false)
		if err != nil {
			s.read = time.Time{} // it may have been applied
			return r, fmt.Errorf("writing the graph: %w", err)
		}
		for i, result := range answer.Results {
			if result.Err != nil {
				r.Refused++
				continue
			}
			batch[i].apply(s.observed)
			r.Applied++
		}
	}
	if r.Refused == 0 {
		s.refusals = 0
	} else if s.refusals++; s.refusals <= maxRefusals { // the graph is not as observed
		s.read, s.salt = time.Time{}, uuid.NewString()
	}
	return r, nil
}

// newID derives an id from a name, so that two demos of one machine create the same resources.
func (s *Syncer) newID(name string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(s.owner+"\x00"+s.salt+"\x00"+name))
}

func (s *Syncer) load(ctx context.Context) error {
	loaded := newObserved()
	filter := client.Filter{Properties: map[string]string{managedBy: s.owner}}
	if err := s.server.EachNode(ctx, filter, func(n client.Node) error { loaded.addNode(n); return nil }); err != nil {
		return err
	}
	err := s.server.EachEdge(ctx, filter, func(e client.Edge) error {
		loaded.edges[link{e.SourceID, e.TargetID, e.RelationType}] = e.ID
		return nil
	})
	if err != nil {
		return err
	}
	s.observed = loaded
	return nil
}
