package graphstore

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// needs are the needs of all workspaces of a group, by kind.
type needs struct {
	workspaces                               postgres.UUIDs
	records, nodes, edges, adjacency, actors postgres.IDList
}

func collectNeeds(all []Needs) *needs {
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
	}
	return n
}

// rows returns the number of rows that are read, without those of adjacent edges.
func (n *needs) rows() int {
	return len(n.workspaces) + len(n.records.IDs) + len(n.nodes.IDs) + len(n.edges.IDs) + len(n.adjacency.IDs) +
		len(n.actors.IDs)
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
