package postgres

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

// nameLooks is how many nodes of one name are looked at, whether they pass.
const nameLooks = 1_000

// calledNodes are the nodes that a query calls by one name.
type calledNodes struct {
	key   string
	nodes []uuid.UUID
}

const selectNamed = `SELECT k.key, p.id FROM unnest($1::text[]) AS k (key)
	CROSS JOIN LATERAL (
		SELECT n.id FROM (SELECT node_id FROM lexical_nodes WHERE workspace_id = $2 AND name_key = k.key ORDER BY node_id LIMIT $3) l
		CROSS JOIN LATERAL (SELECT n.id FROM nodes n WHERE n.workspace_id = $2 AND n.id = l.node_id AND `

// queueNames has the nodes read, beside other things, that have a name of the query, at
// most so many of each name.
func (s *textSearch) queueNames(batch *pgx.Batch, q lexical.Query, most int) {
	if len(q.Names) == 0 {
		return
	}
	var keys []string
	for _, n := range q.Names {
		keys = append(keys, n.Key)
	}
	slices.Sort(keys)
	w := &where{args: []any{slices.Compact(keys), s.workspace, nameLooks}}
	addPassing(w, s.filter)
	s.names = map[string][]uuid.UUID{}
	query := selectNamed + w.text() + ` OFFSET 0) n LIMIT ` + w.arg(most) + `) p ORDER BY p.id`
	batch.Queue(query, w.args...).Query(func(rows pgx.Rows) error {
		var key string
		var id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&key, &id}, func() error {
			s.names[key] = append(s.names[key], id)
			return nil
		})
		return err
	})
}

// calls gives by name the nodes that the query calls, those of the longest names first:
// each has its whole name in the query, and not only within the longer name of another.
func (s *textSearch) calls(q lexical.Query) (called []calledNodes) {
	places := map[string][]lexical.Name{}
	for _, n := range q.Names {
		places[n.Key] = append(places[n.Key], n)
	}
	keys := slices.SortedFunc(maps.Keys(s.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(words(places[b]), words(places[a])), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var taken []lexical.Name
	for _, key := range keys {
		if !slices.ContainsFunc(places[key], func(n lexical.Name) bool { return !within(n, taken) }) {
			continue
		}
		taken = append(taken, places[key]...)
		called = append(called, calledNodes{key: key, nodes: s.names[key]})
	}
	return called
}

// words is how many words a name has.
func words(places []lexical.Name) int { return places[0].To - places[0].From }

// within says whether a place is a part of one that is taken.
func within(n lexical.Name, taken []lexical.Name) bool {
	return slices.ContainsFunc(taken, func(t lexical.Name) bool {
		return t.From <= n.From && n.To <= t.To && t.Key != n.Key
	})
}

// raise raises the nodes that the query calls by name, most of all those whose name is
// the whole query.
func (s *textSearch) raise(called []calledNodes, q lexical.Query) {
	top := 1.0
	for _, score := range s.scores {
		top = max(top, score)
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
			s.scores[id] += share * top
			s.raised[id] += share * top
		}
	}
	s.sorted = false
}
