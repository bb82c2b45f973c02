package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/graph"
)

type commandTag = pgconn.CommandTag

// uuids are a column of ids. The driver takes them as they are, while it has to find
// out for each uuid.UUID anew what to do with it.
type uuids = pgtype.FlatArray[pgtype.UUID]

func column(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// idList are ids with their workspaces, as two columns.
type idList struct{ workspaces, ids uuids }

func (l *idList) add(workspace uuid.UUID, ids []uuid.UUID, skip func(uuid.UUID) bool) {
	for _, id := range ids {
		if skip == nil || !skip(id) {
			l.workspaces, l.ids = append(l.workspaces, column(workspace)), append(l.ids, column(id))
		}
	}
}

// needs are those of all workspaces of a group.
type needs struct {
	workspaces                             uuids
	records, nodes, edges, centres, actors idList
}

func collectNeeds(all []GraphNeeds) *needs {
	n := &needs{}
	for i := range all {
		one := &all[i]
		n.workspaces = append(n.workspaces, column(one.Workspace))
		n.records.add(one.Workspace, one.Records, nil)
		n.nodes.add(one.Workspace, one.Nodes, nil)
		n.edges.add(one.Workspace, one.Edges, nil)
		n.centres.add(one.Workspace, one.Centres, nil)
		n.actors.add(one.Workspace, one.Actors, func(actor uuid.UUID) bool {
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
func (n *needs) fill(tx *GraphTx) {
	for i, id := range n.nodes.ids {
		s := tx.states[n.nodes.workspaces[i].Bytes]
		if _, ok := s.nodes[id.Bytes]; !ok {
			s.nodes[id.Bytes] = nodeRow{}
		}
	}
	for i, id := range n.edges.ids {
		s := tx.states[n.edges.workspaces[i].Bytes]
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
