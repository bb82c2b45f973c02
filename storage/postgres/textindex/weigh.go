package textindex

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

const (
	selectTerms = `SELECT t.term, t.nodes` + listColumns + ` FROM (SELECT term, nodes FROM lexical_terms
			WHERE workspace_id = $1 AND term = ANY($2) ORDER BY nodes, term LIMIT $3) t` +
		joinList + `t.nodes > $4 ORDER BY t.nodes, t.term`
	selectCompletions = `SELECT t.term, t.nodes` +
		listColumns + ` FROM (SELECT term, nodes FROM (SELECT term, nodes FROM lexical_terms
			WHERE workspace_id = $1 AND term >= $2 AND term < $3 ORDER BY term LIMIT $4) s
			WHERE term <> ALL($5) ORDER BY nodes DESC, term LIMIT $6) t` +
		joinList + `t.nodes > $7 ORDER BY t.nodes DESC, t.term`
)

// weigh reads the frequencies of the terms and returns the terms that some node has, rarest first. It
// also reads the nodes that have a name of the query, at most names of each name.
func (s *textSearch) weigh(ctx context.Context, q lexical.Query, names int) ([]searchTerm, error) {
	texts := make([]string, len(q.Terms))
	for i, t := range q.Terms {
		texts[i] = t.Text
	}
	var length float64
	var terms, completions []searchTerm
	batch := &pgx.Batch{}
	batch.Queue(
		`SELECT nodes, length FROM lexical_workspaces WHERE workspace_id = $1`, s.workspace,
	).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&s.nodes, &length}, func() error { return nil })
		return err
	})
	read := func(dst *[]searchTerm) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var t searchTerm
			_, err := pgx.ForEachRow(rows, []any{
				&t.text, &t.nodes, &t.listed, &t.list.average, &t.list.floor, &t.list.node, &t.size,
			}, func() error {
				*dst = append(*dst, t)
				return nil
			})
			return err
		}
	}
	batch.Queue(selectTerms, s.workspace, texts, searchTerms, s.limits.postings).Query(read(&terms))
	if q.Prefix != "" {
		batch.Queue(
			selectCompletions, s.workspace, q.Prefix, q.Prefix+"\U0010ffff", prefixSeen, texts, prefixTerms, s.limits.postings,
		).Query(read(&completions))
	}
	s.queueNames(batch, q, names)
	s.view.queue(batch, s.workspace)
	if err := s.tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("reading how frequent the terms are: %w", err)
	}
	if s.nodes <= 0 {
		return nil, nil
	}
	if err := s.refreshCache(ctx); err != nil {
		return nil, err
	}
	s.average = max(length/s.nodes, 1)
	s.frequency = make(map[string]int64, len(terms))
	for i, t := range terms {
		terms[i].weight = s.idf(t.nodes)
		s.frequency[t.text], s.maxFrequency = t.nodes, max(s.maxFrequency, t.nodes)
	}
	completions = s.weighCompletions(completions, q, terms)
	s.queryWeight = s.totalWeight(q, terms, completions)
	return append(terms, completions...), nil
}

// totalWeight returns the sum of the weights of the terms of a query, including those that no node
// has. If the last word is no term, it has the weight of its completions.
func (s *textSearch) totalWeight(q lexical.Query, terms, completions []searchTerm) (sum float64) {
	for _, t := range terms {
		sum += t.weight
	}
	if len(terms) == searchTerms {
		return sum // the others are unknown, because only the rarest were read
	}
	last := q.Terms[len(q.Terms)-1].Text
	for _, t := range q.Terms {
		switch {
		case slices.ContainsFunc(terms, func(known searchTerm) bool { return known.text == t.Text }):
		case t.Text == last && len(completions) > 0:
			sum += completions[0].weight
		default:
			sum += s.idf(0)
		}
	}
	return sum
}

// weighCompletions sets the weight of the terms that begin with the last word of the query to the
// weight that one term of all their nodes would have, or half of it if the last word is a term itself.
func (s *textSearch) weighCompletions(completions []searchTerm, q lexical.Query, terms []searchTerm) []searchTerm {
	var total int64
	for _, t := range completions {
		total += t.nodes
	}
	weight := s.idf(min(total, int64(s.nodes)))
	last := q.Terms[len(q.Terms)-1].Text
	if slices.ContainsFunc(terms, func(t searchTerm) bool { return t.text == q.Prefix || t.text == last }) {
		weight *= prefixWeight
	}
	for i := range completions {
		completions[i].weight = weight
	}
	slices.SortFunc(completions, func(a, b searchTerm) int { return cmp.Compare(a.nodes, b.nodes) })
	return completions
}

// idf returns the inverse document frequency of a term of that number of nodes.
func (s *textSearch) idf(nodes int64) float64 {
	n := float64(nodes)
	return math.Log1p(max(s.nodes-n, 0)/(n+0.5) + 0.5/(n+0.5))
}

// cost returns the number of postings that are read to find the nodes of a term.
func (s *textSearch) cost(t searchTerm) int64 {
	switch {
	case t.cached:
		return 0
	case s.matchesComplete:
		return min(t.nodes, int64(len(s.matches)))
	case s.usesChampionList(&t):
		return t.size + s.limits.newest
	}
	return t.nodes
}

// sortTerms sorts cached terms first, and then by frequency, rarest first.
func sortTerms(terms []searchTerm) {
	slices.SortStableFunc(terms, func(a, b searchTerm) int {
		switch {
		case a.cached == b.cached:
			return cmp.Compare(a.nodes, b.nodes)
		case a.cached:
			return -1
		}
		return 1
	})
}
