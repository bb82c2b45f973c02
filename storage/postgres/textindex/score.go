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

// postingScore is what a posting adds to the score of its node. $2 and $3 are the terms and their
// weights, $4 and $5 the constant and the factor of the length normalisation: k1 (1-b), and k1 b
// divided by the average length.
const (
	sumScore     = `sum(` + postingScore + `) AS score`
	oneScore     = postingScore + ` AS score`
	postingScore = `t.weight * p.count / (p.count + $4::float8 + $5::float8 * p.length)`
)

// Postings are read by index-only scans, one term after the other. The subqueries are written so
// that the planner has no other plan.
const (
	// scoreAll reads the postings of the $6 newest nodes of each term: ids increase with time. Nodes
	// with equal scores are sorted newest first, too.
	scoreAll = `SELECT p.node_id, ` + sumScore + ` FROM unnest($2::text[], $3::float8[]) AS t (term, weight)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1 AND term = t.term
			ORDER BY node_id DESC LIMIT $6) p
		GROUP BY p.node_id ORDER BY score DESC, p.node_id DESC LIMIT $7`
	// scoreMatches reads all postings of the terms and keeps those of the nodes $6.
	scoreMatches = `SELECT p.node_id, ` + sumScore + ` FROM unnest($2::text[], $3::float8[]) AS t (term, weight)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings
			WHERE workspace_id = $1 AND term = t.term OFFSET 0) p
		WHERE p.node_id = ANY($6) GROUP BY p.node_id ORDER BY score DESC, p.node_id DESC LIMIT $7`
	// scoreLookups looks up the posting of each of the nodes $6 in each term.
	scoreLookups = `SELECT p.node_id, ` + sumScore + ` FROM unnest($2::text[], $3::float8[]) AS t (term, weight)
		CROSS JOIN unnest($6::uuid[]) AS n (id)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings
			WHERE workspace_id = $1 AND term = t.term AND node_id = n.id OFFSET 0) p
		GROUP BY p.node_id ORDER BY score DESC, p.node_id DESC LIMIT $7`
)

// gather scores the nodes that have some of the terms. Cached terms are scored in memory.
func (s *textSearch) gather(ctx context.Context, terms []searchTerm) error {
	if !s.matchesComplete {
		if err := s.loadTerms(ctx, terms); err != nil {
			return err
		}
	}
	cached, uncached := s.splitCached(terms)
	if len(cached) > 0 && !s.scoreCached(cached, len(uncached) > 0) {
		uncached = terms
	}
	if !s.matchesComplete {
		return s.gatherPostings(ctx, uncached, len(cached) > 0)
	}
	var scanned, lookedUp []searchTerm
	for _, t := range uncached {
		if t.nodes <= 4*int64(len(s.matches)) { // a lookup costs about as much as reading four postings
			scanned = append(scanned, t)
		} else {
			lookedUp = append(lookedUp, t)
		}
	}
	if err := s.score(ctx, scoreMatches, scanned, s.matches, len(s.matches)); err != nil {
		return err
	}
	return s.score(ctx, scoreLookups, lookedUp, s.matches, len(s.matches))
}

// lookUp adds the scores of the secondary terms, and of those primary terms whose champion lists were
// read, to the candidates that can still be among the best. It does so for the best candidates, up to
// the limit of lookups, and removes all others.
func (s *textSearch) lookUp(ctx context.Context, primary, secondary []searchTerm) error {
	var unlisted []float64
	if len(primary) > 1 { // otherwise the only term found every candidate
		for i := range s.listed {
			unlisted = append(unlisted, s.maxUnlistedScore(&s.listed[i]))
		}
	}
	if len(secondary)+len(unlisted) == 0 {
		return nil
	}
	minScore := s.threshold() - maxScore(secondary)
	ranking := s.ranked()
	maxLookups := min(len(ranking), max(2*s.limit, int(s.limits.lookups)/(len(secondary)+len(unlisted))))
	if len(unlisted) > 0 && s.filter.IsEmpty() {
		size := int64(0)
		for i := range s.listed {
			size += s.listed[i].size
		}
		maxLookups = min(maxLookups, max(2*s.limit, int(size)/searchListed))
	}
	candidates := make(postgres.UUIDs, 0, maxLookups)
	s.sorted = false
	for _, n := range ranking {
		if len(candidates) < maxLookups && n.score+s.maxMissingScore(n.id, unlisted) >= minScore {
			candidates = append(candidates, postgres.UUID(n.id))
		} else {
			delete(s.scores, n.id)
		}
	}
	if len(unlisted) > 0 {
		if err := s.completeListed(ctx, candidates); err != nil {
			return err
		}
	}
	return s.score(ctx, scoreLookups, secondary, candidates, len(candidates))
}

// scoreArgs returns the arguments that all queries that score by terms have.
func (s *textSearch) scoreArgs(terms []searchTerm) []any {
	texts, weights := make([]string, len(terms)), make([]float64, len(terms))
	for i, t := range terms {
		texts[i], weights[i] = t.text, t.weight*(bm25K1+1)
	}
	return []any{s.workspace, texts, weights, bm25K1 * (1 - bm25B), bm25K1 * bm25B / s.average}
}

// score runs a query that scores nodes by terms, and adds the results to the scores.
func (s *textSearch) score(ctx context.Context, query string, terms []searchTerm, operand any, limit int) error {
	if len(terms) == 0 {
		return nil
	}
	rows, err := s.tx.Query(ctx, query, append(s.scoreArgs(terms), operand, limit)...)
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

// ranked returns the candidates sorted by score. It sorts them on demand, which is mostly once, after
// all scores are added.
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

// compareScored compares by descending score, and nodes with equal scores newest first.
func compareScored(a, b scoredNode) int {
	if a.score != b.score { // nearly always, so the ids are rarely compared
		return cmp.Compare(b.score, a.score)
	}
	return bytes.Compare(b.id[:], a.id[:])
}
