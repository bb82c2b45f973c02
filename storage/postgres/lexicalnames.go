package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

// nameLooks is how many nodes of one name are looked at, whether they pass.
const nameLooks = 1_000

// NamedNodes gives the nodes that a query calls by their names, those of the longest
// names first, at most limit: each stands, passes the filter, and has its whole name
// in the query, and not only within the longer name of another.
func (db *DB) NamedNodes(ctx context.Context, workspace uuid.UUID, q lexical.Query, f retrieval.Filter, limit int) (ids []uuid.UUID, err error) {
	if len(q.Names) == 0 || limit <= 0 {
		return nil, nil
	}
	err = db.reading(ctx, func(tx pgx.Tx) error {
		found, err := named(ctx, tx, workspace, q, f, limit)
		for _, n := range found {
			ids = append(ids, n.nodes...)
		}
		return err
	})
	if err != nil {
		return nil, classify(fmt.Errorf("looking for names: %w", err))
	}
	return ids[:min(len(ids), limit)], nil
}

// calledNode are the nodes that a query calls by one name.
type calledNodes struct {
	key   string
	nodes []uuid.UUID
}

const selectNamed = `SELECT k.key, p.id FROM unnest($1::text[]) AS k (key)
	CROSS JOIN LATERAL (
		SELECT n.id FROM (SELECT node_id FROM lexical_nodes WHERE workspace_id = $2 AND name_key = k.key ORDER BY node_id LIMIT $3) l
		CROSS JOIN LATERAL (SELECT n.id FROM nodes n WHERE n.workspace_id = $2 AND n.id = l.node_id AND `

// named gives by name the nodes that the query calls, at most so many of each name;
// the longest names first.
func named(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, q lexical.Query, f retrieval.Filter, most int) ([]calledNodes, error) {
	places := map[string][]lexical.Name{}
	var keys []string
	for _, n := range q.Names {
		if places[n.Key] == nil {
			keys = append(keys, n.Key)
		}
		places[n.Key] = append(places[n.Key], n)
	}
	w := &where{args: []any{keys, workspace, nameLooks}}
	addPassing(w, f)
	query := selectNamed + w.text() + ` OFFSET 0) n LIMIT ` + w.arg(most) + `) p ORDER BY p.id`
	rows, err := tx.Query(ctx, query, w.args...)
	if err != nil {
		return nil, fmt.Errorf("reading names: %w", err)
	}
	nodes := map[string][]uuid.UUID{}
	var key string
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&key, &id}, func() error {
		nodes[key] = append(nodes[key], id)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading names: %w", err)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return nodes[key] == nil })
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(words(places[b]), words(places[a])), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var called []calledNodes
	var taken []lexical.Name
	for _, key := range keys {
		if !slices.ContainsFunc(places[key], func(n lexical.Name) bool { return !within(n, taken) }) {
			continue
		}
		taken = append(taken, places[key]...)
		called = append(called, calledNodes{key: key, nodes: nodes[key]})
	}
	return called, nil
}

// words is how many words a name has.
func words(places []lexical.Name) int { return places[0].To - places[0].From }

// within says whether a place is a part of one that is taken.
func within(n lexical.Name, taken []lexical.Name) bool {
	return slices.ContainsFunc(taken, func(t lexical.Name) bool {
		return t.From <= n.From && n.To <= t.To && t.Key != n.Key
	})
}

// raiseNamed raises the nodes that the query calls by name, most of all those whose
// name is the whole query.
func (s *textSearch) raiseNamed(ctx context.Context, q lexical.Query) error {
	if len(q.Names) == 0 {
		return nil
	}
	called, err := named(ctx, s.tx, s.workspace, q, s.filter, namesakes+1)
	if err != nil {
		return err
	}
	top := 0.0
	if len(s.order) > 0 {
		top = s.order[0].score
	}
	for _, c := range called {
		if len(c.nodes) > namesakes {
			continue
		}
		share := nameBoost
		if c.key == q.Name {
			share = 1
		}
		for _, id := range c.nodes {
			s.scores[id] += share * max(top, 1)
			s.raised[id] += share * max(top, 1)
		}
	}
	if len(called) > 0 {
		s.sort()
	}
	return nil
}
