package textindex

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// scored is what the postings of a term add to the score of their node. $2 and $3
// are the terms and their weights, $4 and $5 what of the length counts: k1 (1-b), and
// k1 b by the average length.
const (
	scored    = `sum(` + part + `) AS score`
	scoredOne = part + ` AS score`
	part      = `t.weight * p.count / (p.count + $4::float8 + $5::float8 * p.length)`
)

// What is read of postings is read from the index alone, one term after the other:
// the subqueries are such that the planner has no other way.
const (
	// scoreAll reads so many postings of each term, those of the newest nodes: ids grow with
	// time. Of nodes that score the same the newest come first, too.
	scoreAll = `SELECT p.node_id, ` + scored + ` FROM unnest($2::text[], $3::float8[]) AS t (term, weight)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1 AND term = t.term
			ORDER BY node_id DESC LIMIT $6) p
		GROUP BY p.node_id ORDER BY score DESC, p.node_id DESC LIMIT $7`
	// scoreListed reads whole terms and takes the listed nodes of them.
	scoreListed = `SELECT p.node_id, ` + scored + ` FROM unnest($2::text[], $3::float8[]) AS t (term, weight)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings
			WHERE workspace_id = $1 AND term = t.term OFFSET 0) p
		WHERE p.node_id = ANY($6) GROUP BY p.node_id ORDER BY score DESC, p.node_id DESC LIMIT $7`
	// scoreEach looks each listed node up in each term.
	scoreEach = `SELECT p.node_id, ` + scored + ` FROM unnest($2::text[], $3::float8[]) AS t (term, weight)
		CROSS JOIN unnest($6::uuid[]) AS n (id)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings
			WHERE workspace_id = $1 AND term = t.term AND node_id = n.id OFFSET 0) p
		GROUP BY p.node_id ORDER BY score DESC, p.node_id DESC LIMIT $7`
)

// gather scores the nodes that have some of the terms: in memory where that has them.
func (s *textSearch) gather(ctx context.Context, terms []searchTerm) error {
	if !s.bounded {
		if err := s.remember(ctx, terms); err != nil {
			return err
		}
	}
	kept, others := s.divide(terms)
	if len(kept) > 0 && !s.scoreKept(kept, len(others) > 0) {
		others = terms
	}
	if !s.bounded {
		return s.gatherPostings(ctx, others, len(kept) > 0)
	}
	var whole, each []searchTerm
	for _, t := range others {
		if t.nodes <= 4*int64(len(s.few)) { // a look costs about as much as four postings in a row
			whole = append(whole, t)
		} else {
			each = append(each, t)
		}
	}
	if err := s.score(ctx, scoreListed, whole, s.few, len(s.few)); err != nil {
		return err
	}
	return s.score(ctx, scoreEach, each, s.few, len(s.few))
}

// lookUp adds what the rest of the terms adds to the scores of the candidates that can
// still be among the best, and what those of the first do of which no more than champions
// were read; of these candidates so many as the bound of looks allows, the best. Others
// are no candidates any more.
func (s *textSearch) lookUp(ctx context.Context, first, rest []searchTerm) error {
	var unlisted []float64
	if len(first) > 1 { // else every candidate was found by the only term
		for i := range s.listed {
			unlisted = append(unlisted, s.atMostUnlisted(&s.listed[i]))
		}
	}
	if len(rest)+len(unlisted) == 0 {
		return nil
	}
	least := s.threshold() - atMost(rest)
	order := s.ranked()
	most := min(len(order), max(2*s.limit, int(s.most.lookups)/(len(rest)+len(unlisted))))
	if len(unlisted) > 0 && unfiltered(s.filter) {
		size := int64(0)
		for i := range s.listed {
			size += s.listed[i].size
		}
		most = min(most, max(2*s.limit, int(size)/searchListed))
	}
	kept := make(postgres.UUIDs, 0, most)
	s.sorted = false
	for _, n := range order {
		if len(kept) < most && n.score+s.missing(n.id, unlisted) >= least {
			kept = append(kept, postgres.UUID(n.id))
		} else {
			delete(s.scores, n.id)
		}
	}
	if len(unlisted) > 0 {
		if err := s.completeListed(ctx, kept); err != nil {
			return err
		}
	}
	return s.score(ctx, scoreEach, rest, kept, len(kept))
}

// scoring are the arguments that all queries have that score by terms.
func (s *textSearch) scoring(terms []searchTerm) []any {
	texts, weights := make([]string, len(terms)), make([]float64, len(terms))
	for i, t := range terms {
		texts[i], weights[i] = t.text, t.weight*(bm25K1+1)
	}
	return []any{s.workspace, texts, weights, bm25K1 * (1 - bm25B), bm25K1 * bm25B / s.average}
}

// score runs a query that scores by terms, and adds what it gives to the scores.
func (s *textSearch) score(ctx context.Context, query string, terms []searchTerm, of any, most int) error {
	if len(terms) == 0 {
		return nil
	}
	rows, err := s.tx.Query(ctx, query, append(s.scoring(terms), of, most)...)
	if err != nil {
		return fmt.Errorf("reading postings: %w", err)
	}
	var id uuid.UUID
	var score float64
	s.sorted = false
	_, err = pgx.ForEachRow(rows, []any{&id, &score}, func() error {
		s.scores[id] += score
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading postings: %w", err)
	}
	return nil
}

// scoredNode is a node with its score.
type scoredNode struct {
	id    uuid.UUID
	score float64
}

// ranked returns the candidates in the order of their scores. They are put in order
// when somebody asks: mostly once, after all is added.
func (s *textSearch) ranked() []scoredNode {
	if s.sorted {
		return s.order
	}
	s.order = slices.Grow(s.order[:0], len(s.scores))
	for id, score := range s.scores {
		s.order = append(s.order, scoredNode{id, score})
	}
	slices.SortFunc(s.order, compareScored)
	s.sorted = true
	return s.order
}

// compareScored is less than 0 when a comes before b: the better first, and of equals
// the newer.
func compareScored(a, b scoredNode) int {
	if a.score != b.score { // nearly always: the ids are not looked at in vain
		return cmp.Compare(b.score, a.score)
	}
	return bytes.Compare(b.id[:], a.id[:])
}
