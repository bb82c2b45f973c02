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
	selectBegun = `SELECT t.term, t.nodes` +
		listColumns + ` FROM (SELECT term, nodes FROM (SELECT term, nodes FROM lexical_terms
			WHERE workspace_id = $1 AND term >= $2 AND term < $3 ORDER BY term LIMIT $4) s
			WHERE term <> ALL($5) ORDER BY nodes DESC, term LIMIT $6) t` +
		joinList + `t.nodes > $7 ORDER BY t.nodes DESC, t.term`
)

// weigh reads how frequent the terms are and gives those that are there, rarest first.
// Which nodes have the names of the query, at most so many of each, it reads as well.
func (s *textSearch) weigh(ctx context.Context, q lexical.Query, names int) ([]searchTerm, error) {
	texts := make([]string, len(q.Terms))
	for i, t := range q.Terms {
		texts[i] = t.Text
	}
	var length float64
	var terms, begun []searchTerm
	batch := &pgx.Batch{}
	batch.Queue(
		`SELECT nodes, length FROM lexical_workspaces WHERE workspace_id = $1`, s.workspace,
	).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&s.nodes, &length}, func() error { return nil })
		return err
	})
	read := func(to *[]searchTerm) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var t searchTerm
			_, err := pgx.ForEachRow(rows, []any{
				&t.text, &t.nodes, &t.listed, &t.list.average, &t.list.floor, &t.list.node, &t.size,
			}, func() error {
				*to = append(*to, t)
				return nil
			})
			return err
		}
	}
	batch.Queue(selectTerms, s.workspace, texts, searchTerms, s.most.postings).Query(read(&terms))
	if q.Prefix != "" {
		batch.Queue(
			selectBegun, s.workspace, q.Prefix, q.Prefix+"\U0010ffff", prefixSeen, texts, prefixTerms, s.most.postings,
		).Query(read(&begun))
	}
	s.queueNames(batch, q, names)
	s.memory.queue(batch, s.workspace)
	if err := s.tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("reading how frequent the terms are: %w", err)
	}
	if s.nodes <= 0 {
		return nil, nil
	}
	if err := s.recall(ctx); err != nil {
		return nil, err
	}
	s.average = max(length/s.nodes, 1)
	s.frequency = make(map[string]int64, len(terms))
	for i, t := range terms {
		terms[i].weight = s.idf(t.nodes)
		s.frequency[t.text], s.frequent = t.nodes, max(s.frequent, t.nodes)
	}
	begun = s.weighBegun(begun, q, terms)
	s.asked = s.weightOf(q, terms, begun)
	return append(terms, begun...), nil
}

// weightOf is what the terms of a query weigh together, those that no node has
// included; the last word as that what begins so, if it is none itself.
func (s *textSearch) weightOf(q lexical.Query, terms, begun []searchTerm) (sum float64) {
	for _, t := range terms {
		sum += t.weight
	}
	if len(terms) == searchTerms {
		return sum // others may be there: only the rarest were asked for
	}
	last := q.Terms[len(q.Terms)-1].Text
	for _, t := range q.Terms {
		switch {
		case slices.ContainsFunc(terms, func(known searchTerm) bool { return known.text == t.Text }):
		case t.Text == last && len(begun) > 0:
			sum += begun[0].weight
		default:
			sum += s.idf(0)
		}
	}
	return sum
}

// weighBegun returns terms that begin as the last word of the query the weight that a
// word of all their nodes would have; half of it if the last word is one itself.
func (s *textSearch) weighBegun(begun []searchTerm, q lexical.Query, terms []searchTerm) []searchTerm {
	var together int64
	for _, t := range begun {
		together += t.nodes
	}
	weight := s.idf(min(together, int64(s.nodes)))
	last := q.Terms[len(q.Terms)-1].Text
	if slices.ContainsFunc(terms, func(t searchTerm) bool { return t.text == q.Prefix || t.text == last }) {
		weight *= prefixWeight
	}
	for i := range begun {
		begun[i].weight = weight
	}
	slices.SortFunc(begun, func(a, b searchTerm) int { return cmp.Compare(a.nodes, b.nodes) })
	return begun
}

// idf reports how much a term tells that so many nodes have.
func (s *textSearch) idf(nodes int64) float64 {
	n := float64(nodes)
	return math.Log1p(max(s.nodes-n, 0)/(n+0.5) + 0.5/(n+0.5))
}

// cost is how many postings are read to find the nodes of a term.
func (s *textSearch) cost(t searchTerm) int64 {
	switch {
	case t.kept:
		return 0
	case s.bounded:
		return min(t.nodes, int64(len(s.few)))
	case s.readsList(&t):
		return t.size + s.most.newest
	}
	return t.nodes
}

// arrange puts terms that are in memory first, then the rarest.
func arrange(terms []searchTerm) {
	slices.SortStableFunc(terms, func(a, b searchTerm) int {
		switch {
		case a.kept == b.kept:
			return cmp.Compare(a.nodes, b.nodes)
		case a.kept:
			return -1
		}
		return 1
	})
}
