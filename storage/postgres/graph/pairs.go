package graphstore

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

const selectEdgesBetween = `SELECT t.n, ` + edgeColumns + ` FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[])
	WITH ORDINALITY AS t (workspace_id, source_id, target_id, relation_type, n)
	CROSS JOIN LATERAL (SELECT * FROM edges s WHERE s.workspace_id = t.workspace_id AND s.source_id = t.source_id
		AND s.relation_type = t.relation_type AND s.target_id = t.target_id AND NOT s.deleted ORDER BY s.id LIMIT $5) e
	ORDER BY t.n, e.id`

// pair identifies the edges of a type from one node to another.
type pair struct {
	source, target uuid.UUID
	relationType   string
}

func (p pair) matches(e *graph.Edge) bool {
	return e != nil && !e.Deleted && e.SourceID == p.source && e.TargetID == p.target && e.RelationType == p.relationType
}

// EdgesBetween implements graph.Resources.
func (s *State) EdgesBetween(source, target uuid.UUID, relationType string, limit int) ([]*graph.Edge, error) {
	p := pair{source, target, relationType}
	limit = min(limit, maxReadMatches)
	if s.edgesLoaded[source] || s.edgesLoaded[target] {
		return s.pairInMemory(p, limit), nil
	}
	read, known := s.pairs[p]
	for {
		if !known {
			var err error
			if read, err = s.readPair(p); err != nil {
				return nil, err
			}
		}
		found := 0
		for _, id := range read.ids {
			e, err := s.Edge(id)
			if err != nil {
				return nil, err
			}
			if p.matches(e) {
				found++
			}
		}
		if read.complete || found >= limit {
			return s.pairInMemory(p, limit), nil
		}
		// Some of the first edges in the database were changed in memory: there may be others.
		if err := s.flush(); err != nil {
			return nil, err
		}
		known = false
	}
}

func (s *State) pairInMemory(p pair, limit int) []*graph.Edge {
	var found []*graph.Edge
	for _, id := range s.matchingEdges(p.source, p.matches) {
		found = append(found, s.edges[id].now)
	}
	return found[:min(limit, len(found))]
}

// readPair reads the edges of a pair from the database.
func (s *State) readPair(p pair) (firstRows, error) {
	list := pairList{{s, p}}
	if err := list.read(s.tx); err != nil {
		return firstRows{}, err
	}
	return s.pairs[p], nil
}

// pairList are pairs to read.
type pairList []neededPair

type neededPair struct {
	state *State
	pair  pair
}

func (l pairList) read(tx *Tx) error {
	if len(l) == 0 {
		return nil
	}
	workspaces, types := make(postgres.UUIDs, len(l)), make([]string, len(l))
	sources, targets := make(postgres.UUIDs, len(l)), make(postgres.UUIDs, len(l))
	for i, p := range l {
		workspaces[i], types[i] = postgres.UUID(p.state.workspace), p.pair.relationType
		sources[i], targets[i] = postgres.UUID(p.pair.source), postgres.UUID(p.pair.target)
	}
	b := &pgx.Batch{}
	found := make([]firstRows, len(l))
	b.Queue(
		selectEdgesBetween, workspaces, sources, targets, types, maxReadMatches,
	).Query(func(rows pgx.Rows) error {
		var n int64
		return eachEdge(rows, func(workspace uuid.UUID, e *graph.Edge) {
			tx.states[workspace].readEdge(e.ID, edgeRow{e, e})
			found[n-1].ids = append(found[n-1].ids, e.ID)
		}, &n)
	})
	if err := tx.conn.send(tx.ctx, b); err != nil {
		return fmt.Errorf("reading the edges between nodes: %w", err)
	}
	for i, p := range l {
		found[i].complete = len(found[i].ids) < maxReadMatches
		p.state.setPair(p.pair, found[i])
	}
	return nil
}

// prefetchPairs reads together the edges that upserts may change, where the ends are known.
func (tx *Tx) prefetchPairs(all []Needs) error {
	var list pairList
	for i := range all {
		s := tx.states[all[i].Workspace]
		if s == nil {
			continue
		}
		seen := map[pair]struct{}{}
		for _, needed := range all[i].Pairs {
			source, sourceKnown := s.knownNode(needed.Source)
			target, targetKnown := s.knownNode(needed.Target)
			p := pair{source, target, needed.RelationType}
			if _, listed := seen[p]; listed || !sourceKnown || !targetKnown {
				continue
			}
			seen[p] = struct{}{}
			list = append(list, neededPair{s, p})
		}
	}
	return list.read(tx)
}

// knownNode returns the id of a node, if it is given or was read with the key.
func (s *State) knownNode(r graph.NodeRef) (uuid.UUID, bool) {
	if r.Key == nil {
		return r.ID, true
	}
	read := s.keys.read[*r.Key]
	if len(read.ids) != 1 {
		return uuid.Nil, false
	}
	return read.ids[0], true
}

// firstRows are rows that match a condition in the database: the first ones by their ids.
type firstRows struct {
	ids      []uuid.UUID
	complete bool // there are no more
}

// setPair and setReadKey store what was read. What a batch reads after it has written to the
// database is removed when the batch is rolled back.
func (s *State) setPair(p pair, read firstRows) {
	if s.savepoint != nil && s.savepoint.inDatabase {
		s.savepoint.pairs = append(s.savepoint.pairs, p)
	}
	s.pairs[p] = read
}

func (s *State) setReadKey(key graph.NodeKey, read firstRows) {
	if s.savepoint != nil && s.savepoint.inDatabase {
		s.savepoint.keys = append(s.savepoint.keys, key)
	}
	s.keys.read[key] = read
}
