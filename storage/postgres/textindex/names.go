package textindex

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// nameLooks is how many nodes of one name are looked at, whether they pass.
const nameLooks = 1_000

// shortName is how many characters a name has at most that is only as certain as its
// words are rare: so few letters are often another word.
const shortName = 3

// calledNodes are the nodes that a query calls by one name.
type calledNodes struct {
	key    string
	nodes  []uuid.UUID
	weight float64 // of the name, above 0 to 1; see weightOfName
}

const selectNamed = `SELECT k.key, p.id FROM unnest($1::text[]) AS k (key)
	CROSS JOIN LATERAL (
		SELECT n.id FROM (SELECT node_id FROM lexical_nodes WHERE workspace_id = $2 AND name_key = k.key ORDER BY node_id
		LIMIT $3) l
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
	w := &postgres.Where{Args: []any{slices.Compact(keys), s.workspace, nameLooks}}
	graphread.AddPassing(w, s.filter)
	s.names = map[string][]uuid.UUID{}
	query := selectNamed + w.Text() + ` OFFSET 0) n LIMIT ` + w.Arg(most) + `) p ORDER BY p.id`
	batch.Queue(query, w.Args...).Query(func(rows pgx.Rows) error {
		var key string
		var id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&key, &id}, func() error {
			s.names[key] = append(s.names[key], id)
			return nil
		})
		return err
	})
}

// calls returns by name the nodes that the query calls, those of the longest names first:
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
		called = append(called, calledNodes{key: key, nodes: s.names[key], weight: s.weightOfName(key)})
	}
	return called
}

// weightOfName is 1, except for a short name how much its rarest term says, of what a term
// of one node would.
func (s *textSearch) weightOfName(key string) float64 {
	if utf8.RuneCountInString(strings.ReplaceAll(key, " ", "")) > shortName {
		return 1
	}
	rarest := math.Inf(1) // nodes of a term
	for _, t := range lexical.Parse(key).Terms {
		nodes, known := s.frequency[t.Text]
		if !known { // of the query's terms only the rarest were read
			nodes = s.frequent
		}
		rarest = min(rarest, float64(nodes))
	}
	if math.IsInf(rarest, 1) {
		return 1
	}
	return min(1, s.idf(int64(rarest))/s.idf(1))
}

// certain lists the nodes that are called, at most so many, those first that are
// meant most certainly; of equal ones those of the longest names.
func certain(called []calledNodes, most int) (list []retrieval.NamedNode) {
	for _, c := range called {
		for _, id := range c.nodes {
			list = append(list, retrieval.NamedNode{Node: id, Mass: c.weight / float64(len(c.nodes))})
		}
	}
	slices.SortStableFunc(list, func(a, b retrieval.NamedNode) int { return cmp.Compare(b.Mass, a.Mass) })
	return list[:min(len(list), most)]
}

// words is how many words a name has.
func words(places []lexical.Name) int { return places[0].To - places[0].From }

// within reports whether a place is a part of one that is taken.
func within(n lexical.Name, taken []lexical.Name) bool {
	return slices.ContainsFunc(taken, func(t lexical.Name) bool {
		return t.From <= n.From && n.To <= t.To && t.Key != n.Key
	})
}

// raise raises the nodes that the query calls by name by what the name says, shared
// among them, and most of all those whose name is the whole query.
func (s *textSearch) raise(called []calledNodes, q lexical.Query) {
	top := 1.0
	for _, score := range s.scores {
		top = max(top, score)
	}
	for _, c := range called {
		if len(c.nodes) > namesakes {
			continue
		}
		share := nameBoost * c.weight / float64(len(c.nodes))
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
