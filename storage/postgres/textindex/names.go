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

// maxNameLookups is the maximum number of nodes of one name to which the filter is applied.
const maxNameLookups = 1_000

// maxShortName is the maximum number of characters of a short name. A match of a short name is only
// as certain as its words are rare, because so few letters are often another word.
const maxShortName = 3

// namedNodes are the nodes with a name that is in the query.
type namedNodes struct {
	key    string
	nodes  []uuid.UUID
	weight float64 // of the name, in (0, 1]; see nameWeight
}

const selectNamed = `SELECT k.key, p.id FROM unnest($1::text[]) AS k (key)
	CROSS JOIN LATERAL (
		SELECT n.id FROM (SELECT node_id FROM lexical_nodes WHERE workspace_id = $2 AND name_key = k.key ORDER BY node_id
		LIMIT $3) l
		CROSS JOIN LATERAL (SELECT n.id FROM nodes n WHERE n.workspace_id = $2 AND n.id = l.node_id AND `

// queueNames queues the query of the nodes that have a name of the query, at most limit of each
// name.
func (s *textSearch) queueNames(batch *pgx.Batch, q lexical.Query, limit int) {
	if len(q.Names) == 0 {
		return
	}
	var keys []string
	for _, n := range q.Names {
		keys = append(keys, n.Key)
	}
	slices.Sort(keys)
	w := &postgres.Where{Args: []any{slices.Compact(keys), s.workspace, maxNameLookups}}
	graphread.AddPassing(w, s.filter)
	s.names = map[string][]uuid.UUID{}
	query := selectNamed + w.Text() + ` OFFSET 0) n LIMIT ` + w.Arg(limit) + `) p ORDER BY p.id`
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

// matchNames returns the nodes whose name is in the query, by name, longest names first. A name that
// is only in the query as a part of a longer name is left out.
func (s *textSearch) matchNames(q lexical.Query) (named []namedNodes) {
	occurrences := map[string][]lexical.Name{}
	for _, n := range q.Names {
		occurrences[n.Key] = append(occurrences[n.Key], n)
	}
	keys := slices.SortedFunc(maps.Keys(s.names), func(a, b string) int {
		return cmp.Or(
			cmp.Compare(wordCount(occurrences[b]), wordCount(occurrences[a])), cmp.Compare(len(b), len(a)), cmp.Compare(a, b),
		)
	})
	var matched []lexical.Name
	for _, key := range keys {
		if !slices.ContainsFunc(occurrences[key], func(n lexical.Name) bool { return !isWithin(n, matched) }) {
			continue
		}
		matched = append(matched, occurrences[key]...)
		named = append(named, namedNodes{key: key, nodes: s.names[key], weight: s.nameWeight(key)})
	}
	return named
}

// nameWeight returns 1, or for a short name the weight of its rarest term relative to that of a term
// of one node.
func (s *textSearch) nameWeight(key string) float64 {
	if utf8.RuneCountInString(strings.ReplaceAll(key, " ", "")) > maxShortName {
		return 1
	}
	rarest := math.Inf(1) // nodes of a term
	for _, t := range lexical.Parse(key).Terms {
		nodes, known := s.frequency[t.Text]
		if !known { // only the rarest terms of the query were read
			nodes = s.maxFrequency
		}
		rarest = min(rarest, float64(nodes))
	}
	if math.IsInf(rarest, 1) {
		return 1
	}
	return min(1, s.idf(int64(rarest))/s.idf(1))
}

// mostCertain returns at most limit of the named nodes, the most certain matches first, and equal ones
// by descending length of the name.
func mostCertain(named []namedNodes, limit int) (list []retrieval.NamedNode) {
	for _, c := range named {
		for _, id := range c.nodes {
			list = append(list, retrieval.NamedNode{Node: id, Certainty: c.weight / float64(len(c.nodes))})
		}
	}
	slices.SortStableFunc(list, func(a, b retrieval.NamedNode) int { return cmp.Compare(b.Certainty, a.Certainty) })
	return list[:min(len(list), limit)]
}

// wordCount returns the number of words of a name.
func wordCount(occurrences []lexical.Name) int { return occurrences[0].To - occurrences[0].From }

// isWithin reports whether an occurrence is a part of a longer one that is matched.
func isWithin(n lexical.Name, matched []lexical.Name) bool {
	return slices.ContainsFunc(matched, func(t lexical.Name) bool {
		return t.From <= n.From && n.To <= t.To && t.Key != n.Key
	})
}

// boost raises the scores of the named nodes by the weight of the name, divided by the number of
// nodes with that name. A node whose name is the whole query gets the highest boost.
func (s *textSearch) boost(named []namedNodes, q lexical.Query) {
	top := 1.0
	for _, score := range s.scores {
		top = max(top, score)
	}
	for _, c := range named {
		if len(c.nodes) > maxNamesakes {
			continue
		}
		share := nameBoost * c.weight / float64(len(c.nodes))
		if c.key == q.Name {
			share = 1
		}
		for _, id := range c.nodes {
			s.scores[id] += share * top
			s.boosts[id] += share * top
		}
	}
	s.sorted = false
}
