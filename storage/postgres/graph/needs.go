package graphstore

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// needs are the needs of all workspaces of a group, by kind.
type needs struct {
	workspaces                               postgres.UUIDs
	records, nodes, edges, adjacency, actors postgres.IDList
	keys                                     keyList
	readKeys                                 []firstRows // of keys, after the batch was sent
	pairs                                    int
}

func collectNeeds(tx *Tx, all []Needs) *needs {
	n := &needs{}
	for i := range all {
		one := &all[i]
		n.workspaces = append(n.workspaces, postgres.UUID(one.Workspace))
		n.records.Add(one.Workspace, one.Records, nil)
		n.nodes.Add(one.Workspace, one.Nodes, nil)
		n.edges.Add(one.Workspace, one.Edges, nil)
		n.adjacency.Add(one.Workspace, one.Adjacency, nil)
		n.actors.Add(one.Workspace, one.Actors, func(actor uuid.UUID) bool {
			if one.Stacks == nil {
				return false
			}
			stacks, known := one.Stacks.Actors[actor]
			return known && !stacks.IsShort()
		})
		for _, key := range one.Keys {
			n.keys = append(n.keys, neededKey{tx.states[one.Workspace], key})
		}
		n.pairs += len(one.Pairs)
	}
	return n
}

// queue queues the statements that read what is needed.
func (n *needs) queue(b *pgx.Batch, tx *Tx) {
	if len(n.records.IDs) > 0 {
		b.Queue(selectOutcomes, n.records.Workspaces, n.records.IDs).Query(tx.readOutcomes)
	}
	if len(n.nodes.IDs) > 0 {
		b.Queue(selectNodes, n.nodes.Workspaces, n.nodes.IDs).Query(tx.readNodes)
	}
	if len(n.edges.IDs) > 0 {
		b.Queue(selectEdges, n.edges.Workspaces, n.edges.IDs).Query(tx.readEdges)
	}
	if len(n.adjacency.IDs) > 0 {
		b.Queue(
			selectEdgesAt, n.adjacency.Workspaces, n.adjacency.IDs, tx.memoryEdgeLimit,
		).Query(tx.readEdgesAt(n.adjacency))
	}
	if len(n.actors.IDs) > 0 {
		b.Queue(
			selectStacks, n.actors.Workspaces, n.actors.IDs, stackReadLimit,
		).Query(tx.readStacks(n.actors, stackReadLimit))
	}
	if len(n.keys) > 0 {
		n.readKeys = make([]firstRows, len(n.keys))
		n.keys.queue(b, tx, n.readKeys)
	}
}

// rows returns the number of rows that are read, without those of adjacent edges.
func (n *needs) rows() int {
	return len(n.workspaces) + len(n.records.IDs) + len(n.nodes.IDs) + len(n.edges.IDs) + len(n.adjacency.IDs) +
		len(n.actors.IDs) + len(n.keys) + n.pairs
}

// markMissing adds an empty row for each node and edge that was queried and does not exist.
func (n *needs) markMissing(tx *Tx) {
	for i, id := range n.nodes.IDs {
		s := tx.states[n.nodes.Workspaces[i].Bytes]
		if _, ok := s.nodes[id.Bytes]; !ok {
			s.nodes[id.Bytes] = nodeRow{}
		}
	}
	for i, id := range n.edges.IDs {
		s := tx.states[n.edges.Workspaces[i].Bytes]
		if _, ok := s.edges[id.Bytes]; !ok {
			s.edges[id.Bytes] = edgeRow{}
		}
	}
}

// nodeRow and edgeRow are a resource as it is stored and as it is now. Both are the same
// pointer until the resource is changed, and again after it is written. Nil: there is no row.
type (
	nodeRow struct{ stored, now *graph.Node }
	edgeRow struct{ stored, now *graph.Edge }
)

func (r nodeRow) dirty() bool { return r.stored != r.now }
func (r edgeRow) dirty() bool { return r.stored != r.now }
