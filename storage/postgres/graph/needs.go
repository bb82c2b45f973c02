package graphstore

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// needs are those of all workspaces of a group.
type needs struct {
	workspaces                             postgres.UUIDs
	records, nodes, edges, centres, actors postgres.IDList
}

func collectNeeds(all []Needs) *needs {
	n := &needs{}
	for i := range all {
		one := &all[i]
		n.workspaces = append(n.workspaces, postgres.UUID(one.Workspace))
		n.records.Add(one.Workspace, one.Records, nil)
		n.nodes.Add(one.Workspace, one.Nodes, nil)
		n.edges.Add(one.Workspace, one.Edges, nil)
		n.centres.Add(one.Workspace, one.Centres, nil)
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

// fill notes what was looked for and is not there.
func (n *needs) fill(tx *Tx) {
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

// nodeRow and edgeRow are a resource as the database has it and as it is now. They
// are the same until something changes it, and after it is written. Nil: no row.
type (
	nodeRow struct{ stored, now *graph.Node }
	edgeRow struct{ stored, now *graph.Edge }
)

func (r nodeRow) dirty() bool { return r.stored != r.now }
func (r edgeRow) dirty() bool { return r.stored != r.now }
