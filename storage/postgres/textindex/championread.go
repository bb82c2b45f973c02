package textindex

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
)

// maxListedTerms is the maximum number of terms that are read by their champions: one for each bit
// of textSearch.foundBy.
const maxListedTerms = 64

const (
	// listColumns and joinList add the champion lists to a query of terms t.
	listColumns = `, l.floor IS NOT NULL, coalesce(l.average, 0), coalesce(l.floor, 0),
		coalesce(l.floor_node, '00000000-0000-0000-0000-000000000000'), coalesce(l.size, 0)`
	joinList = ` LEFT JOIN lexical_champion_lists l
		ON l.workspace_id = $1 AND l.term = t.term AND l.floor IS NOT NULL AND `
	// scoreChampions reads the champion list of each term, and of its other postings those of the
	// $6 newest nodes.
	scoreChampions = `SELECT t.place, p.node_id, ` + oneScore + `
		FROM unnest($2::text[], $3::float8[], $7::bigint[], $8::bigint[], $9::uuid[])
			WITH ORDINALITY AS t (term, weight, average, floor, node, place)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_champions WHERE workspace_id = $1 AND term = t.term
			UNION ALL SELECT p.node_id, p.count, p.length FROM (SELECT t.average OFFSET 0) l
			CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1 AND term = t.term
				ORDER BY node_id DESC LIMIT $6) p
			WHERE ` + championImpact + ` < t.floor OR ` + championImpact + ` = t.floor AND p.node_id > t.node) p`
	// scorePairs looks up the posting of each pair of a term and a node.
	scorePairs = `SELECT p.node_id, ` +
		oneScore + ` FROM unnest($2::text[], $3::float8[], $6::uuid[]) AS t (term, weight, id)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings
			WHERE workspace_id = $1 AND term = t.term AND node_id = t.id OFFSET 0) p
		LIMIT $7`
)

// usesChampionList reports whether the champion list of a term is read instead of all postings.
func (s *textSearch) usesChampionList(t *searchTerm) bool {
	return t.listed && !t.cached && !s.matchesComplete && !s.limits.unlisted
}

// maxUnlistedScore returns the maximum that a term can add to the score of a node that is not in
// its champion list: the score of the impact of the floor, adjusted to the current average length.
func (s *textSearch) maxUnlistedScore(t *searchTerm) float64 {
	impact := float64(t.list.floor+1) / impactScale * max(1, (s.average+1)/float64(t.list.average))
	return t.weight * (bm25K1 + 1) * impact / (impact + bm25K1)
}

// gatherPostings scores the nodes that have some of the terms. Of terms with a champion list it
// reads the postings with the highest impacts. more reports that terms in memory found nodes, too.
func (s *textSearch) gatherPostings(ctx context.Context, terms []searchTerm, more bool) error {
	var full, listed []searchTerm
	for i := range terms {
		switch t := &terms[i]; {
		case s.usesChampionList(t):
			s.cut, listed = retrieval.TextTopWeighted, append(listed, *t)
		default:
			full = append(full, *t)
		}
	}
	for i := range full { // after the loop above, because this value has priority
		if full[i].nodes > s.limits.postings {
			s.cut = retrieval.TextNewest
		}
	}
	if len(listed) > maxListedTerms {
		full, listed = append(full, listed[maxListedTerms:]...), listed[:maxListedTerms]
	}
	limit := searchCandidates
	if !s.filter.IsEmpty() || more || len(full) > 0 && len(listed) > 0 {
		limit = int(s.limits.postings) // any node may be among the few that pass, or score high by other terms
	}
	if err := s.score(ctx, scoreAll, full, s.limits.postings, limit); err != nil || len(listed) == 0 {
		return err
	}
	return s.scoreListed(ctx, listed)
}

// scoreListed scores nodes by the champion lists of terms, and stores by which terms each node was
// found. If there is a filter, few champions may pass. Then other postings are read, too, up to the
// number that is read for a term without a list.
func (s *textSearch) scoreListed(ctx context.Context, terms []searchTerm) error {
	var averages, floors []int64
	var nodes []uuid.UUID
	size := int64(0)
	for i := range terms {
		l := &terms[i].list
		averages, floors, nodes = append(averages, l.average), append(floors, l.floor), append(nodes, l.node)
		size += terms[i].size
	}
	newest := s.limits.newest
	if !s.filter.IsEmpty() {
		newest = max(newest, (s.limits.postings-size)/int64(len(terms)))
	}
	rows, err := s.tx.Query(ctx, scoreChampions, append(s.scoreArgs(terms), newest, averages, floors, nodes)...)
	if err != nil {
		return fmt.Errorf("reading champion lists: %w", err)
	}
	s.listed, s.foundBy, s.sorted = terms, map[uuid.UUID]uint64{}, false
	var place int
	var id pgtype.UUID
	var score float64
	_, err = pgx.ForEachRow(rows, []any{&place, &id, &score}, func() error {
		s.scores[id.Bytes] += score
		s.foundBy[id.Bytes] |= 1 << (place - 1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading champion lists: %w", err)
	}
	return nil
}

// maxMissingScore returns the maximum that terms can add to the score of a candidate that was not
// found in their champion lists.
func (s *textSearch) maxMissingScore(id uuid.UUID, maxScores []float64) (sum float64) {
	for i, found := 0, s.foundBy[id]; i < len(maxScores); i++ {
		if found&(1<<i) == 0 {
			sum += maxScores[i]
		}
	}
	return sum
}

// completeListed adds the missing scores of terms whose champion lists were read to candidates that
// were found by other terms.
func (s *textSearch) completeListed(ctx context.Context, candidates postgres.UUIDs) error {
	var terms []searchTerm
	var ids postgres.UUIDs
	for i := range s.listed {
		for _, id := range candidates {
			if s.foundBy[id.Bytes]&(1<<i) == 0 {
				terms, ids = append(terms, s.listed[i]), append(ids, id)
			}
		}
	}
	return s.score(ctx, scorePairs, terms, ids, len(ids))
}
