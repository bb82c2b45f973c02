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

// listedTerms is how many terms can be read by their champions: one for each bit.
const listedTerms = 64

const (
	// listColumns and joinList read the champion lists of terms t beside them.
	listColumns = `, l.floor IS NOT NULL, coalesce(l.average, 0), coalesce(l.floor, 0),
		coalesce(l.floor_node, '00000000-0000-0000-0000-000000000000'), coalesce(l.size, 0)`
	joinList = ` LEFT JOIN lexical_champion_lists l
		ON l.workspace_id = $1 AND l.term = t.term AND l.floor IS NOT NULL AND `
	// scoreChampions reads of each term its champion list, and of the others of its
	// postings so many of the newest nodes.
	scoreChampions = `SELECT t.place, p.node_id, ` + scoredOne + `
		FROM unnest($2::text[], $3::float8[], $7::bigint[], $8::bigint[], $9::uuid[])
			WITH ORDINALITY AS t (term, weight, average, floor, node, place)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_champions WHERE workspace_id = $1 AND term = t.term
			UNION ALL SELECT p.node_id, p.count, p.length FROM (SELECT t.average OFFSET 0) l
			CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1 AND term = t.term
				ORDER BY node_id DESC LIMIT $6) p
			WHERE ` + championImpact + ` < t.floor OR ` + championImpact + ` = t.floor AND p.node_id > t.node) p`
	// scorePairs looks each node up in one term.
	scorePairs = `SELECT p.node_id, ` +
		scoredOne + ` FROM unnest($2::text[], $3::float8[], $6::uuid[]) AS t (term, weight, id)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings
			WHERE workspace_id = $1 AND term = t.term AND node_id = t.id OFFSET 0) p
		LIMIT $7`
)

// readsList reports whether of a term no more than its champions are read.
func (s *textSearch) readsList(t *searchTerm) bool {
	return t.listed && !t.kept && !s.bounded && !s.most.unlisted
}

// atMostUnlisted is what a term can add to a score at most where its champion list has no
// posting: the part for the impact of the floor, as long as texts may have become by now.
func (s *textSearch) atMostUnlisted(t *searchTerm) float64 {
	impact := float64(t.list.floor+1) / impactScale * max(1, (s.average+1)/float64(t.list.average))
	return t.weight * (bm25K1 + 1) * impact / (impact + bm25K1)
}

// gatherPostings scores the nodes that have some of the terms, of those that very many
// have the heaviest. more says that others were found by terms in memory.
func (s *textSearch) gatherPostings(ctx context.Context, terms []searchTerm, more bool) error {
	var whole, listed []searchTerm
	for i := range terms {
		switch t := &terms[i]; {
		case s.readsList(t):
			s.cut, listed = retrieval.TextHeaviest, append(listed, *t)
		default:
			whole = append(whole, *t)
		}
	}
	for i := range whole { // after the others: what is oldest is cut most
		if whole[i].nodes > s.most.postings {
			s.cut = retrieval.TextNewest
		}
	}
	if len(listed) > listedTerms {
		whole, listed = append(whole, listed[listedTerms:]...), listed[:listedTerms]
	}
	most := searchCandidates
	if !unfiltered(s.filter) || more || len(whole) > 0 && len(listed) > 0 {
		most = int(s.most.postings) // any of them may be all that pass, or score by the others
	}
	if err := s.score(ctx, scoreAll, whole, s.most.postings, most); err != nil || len(listed) == 0 {
		return err
	}
	return s.scoreListed(ctx, listed)
}

// scoreListed scores by champions, and notes which of the terms added to which node. A
// filter may let few champions pass: behind one as many others are read as are read of a
// term without a list.
func (s *textSearch) scoreListed(ctx context.Context, terms []searchTerm) error {
	var averages, floors []int64
	var nodes []uuid.UUID
	size := int64(0)
	for i := range terms {
		l := &terms[i].list
		averages, floors, nodes = append(averages, l.average), append(floors, l.floor), append(nodes, l.node)
		size += terms[i].size
	}
	newest := s.most.newest
	if !unfiltered(s.filter) {
		newest = max(newest, (s.most.postings-size)/int64(len(terms)))
	}
	rows, err := s.tx.Query(ctx, scoreChampions, append(s.scoring(terms), newest, averages, floors, nodes)...)
	if err != nil {
		return fmt.Errorf("reading champion lists: %w", err)
	}
	s.listed, s.has, s.sorted = terms, map[uuid.UUID]uint64{}, false
	var place int
	var id pgtype.UUID
	var score float64
	_, err = pgx.ForEachRow(rows, []any{&place, &id, &score}, func() error {
		s.scores[id.Bytes] += score
		s.has[id.Bytes] |= 1 << (place - 1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading champion lists: %w", err)
	}
	return nil
}

// missing is what the terms add at most to the score of a candidate that was not found by
// their champions.
func (s *textSearch) missing(id uuid.UUID, atMost []float64) (sum float64) {
	for i, has := 0, s.has[id]; i < len(atMost); i++ {
		if has&(1<<i) == 0 {
			sum += atMost[i]
		}
	}
	return sum
}

// completeListed adds what terms of which champions were read add to the scores of
// candidates that were found by others.
func (s *textSearch) completeListed(ctx context.Context, candidates postgres.UUIDs) error {
	var terms []searchTerm
	var ids postgres.UUIDs
	for i := range s.listed {
		for _, id := range candidates {
			if s.has[id.Bytes]&(1<<i) == 0 {
				terms, ids = append(terms, s.listed[i]), append(ids, id)
			}
		}
	}
	return s.score(ctx, scorePairs, terms, ids, len(ids))
}
