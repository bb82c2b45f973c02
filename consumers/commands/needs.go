package commands

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// collectNeeds returns what must be read to decide the records, by workspace.
func collectNeeds(records []*record) []graphstore.Needs {
	var all []*needs
	byWorkspace := map[uuid.UUID]*needs{}
	for _, r := range records {
		if r.request == nil {
			continue
		}
		n := byWorkspace[r.request.Workspace]
		if n == nil {
			n = &needs{Needs: graphstore.Needs{Workspace: r.request.Workspace}, seen: map[need]struct{}{}}
			byWorkspace[r.request.Workspace] = n
			all = append(all, n)
		}
		n.add(&n.Records, 'r', r.request.ID)
		n.add(&n.Actors, 'a', r.request.Actor)
		if r.poison == "" {
			for _, action := range r.request.Actions {
				n.action(action, r.request.Actor)
			}
		}
	}
	collected := make([]graphstore.Needs, len(all))
	for i, n := range all {
		collected[i] = n.Needs
	}
	return collected
}

// needs collects distinct IDs.
type needs struct {
	graphstore.Needs
	seen     map[need]struct{}
	seenKeys map[graph.NodeKey]struct{}
}

type need struct {
	kind byte
	id   uuid.UUID
}

func (n *needs) add(to *[]uuid.UUID, kind byte, id uuid.UUID) {
	if _, ok := n.seen[need{kind, id}]; ok {
		return
	}
	n.seen[need{kind, id}] = struct{}{}
	*to = append(*to, id)
}

func (n *needs) node(id uuid.UUID) { n.add(&n.Nodes, 'n', id) }
func (n *needs) edge(id uuid.UUID) { n.add(&n.Edges, 'e', id) }

func (n *needs) action(a graph.Action, actor uuid.UUID) {
	switch p := a.Payload.(type) {
	case graph.CreateNode:
		n.node(p.ID)
	case graph.UpdateNode:
		n.node(p.ID)
	case graph.DeleteNode:
		n.node(p.ID)
		n.add(&n.Adjacency, 'c', p.ID)
	case graph.CreateEdge:
		n.edge(p.ID)
		n.node(p.SourceID)
		n.node(p.TargetID)
	case graph.UpdateEdge:
		n.edge(p.ID)
	case graph.DeleteEdge:
		n.edge(p.ID)
	case graph.UpsertNode:
		n.node(p.ID)
		n.key(p.Key)
	case graph.UpsertEdge:
		n.upsertEdge(p)
	case graph.Undo:
		n.pick(p.Pick, actor, graphstore.Reversals{Undos: 1})
	case graph.Redo:
		n.pick(p.Pick, actor, graphstore.Reversals{Redos: 1})
	}
}

func (n *needs) upsertEdge(p graph.UpsertEdge) {
	n.edge(p.ID)
	for _, end := range []graph.NodeRef{p.Source, p.Target} {
		if end.Key != nil {
			n.key(*end.Key)
		} else {
			n.node(end.ID)
		}
	}
	n.Pairs = append(n.Pairs, graphstore.Pair{Source: p.Source, Target: p.Target, RelationType: p.RelationType})
}

func (n *needs) key(key graph.NodeKey) {
	if _, ok := n.seenKeys[key]; ok {
		return
	}
	if n.seenKeys == nil {
		n.seenKeys = map[graph.NodeKey]struct{}{}
	}
	n.seenKeys[key] = struct{}{}
	n.Keys = append(n.Keys, key)
}

func (n *needs) pick(p graph.Pick, actor uuid.UUID, added graphstore.Reversals) {
	if p.CommandID != uuid.Nil {
		return // Apply looks the command up by its ID
	}
	if p.Workspace {
		actor = uuid.Nil
		n.add(&n.Actors, 'a', actor)
	}
	if n.Reversals == nil {
		n.Reversals = map[uuid.UUID]graphstore.Reversals{}
	}
	count := n.Reversals[actor]
	count.Undos, count.Redos = count.Undos+added.Undos, count.Redos+added.Redos
	n.Reversals[actor] = count
}
