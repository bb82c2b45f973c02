package textindex

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/storage/postgres"
)

// What of the text lane is in memory is as of a revision that the search before saw.
// This is how a search brings it up to date, adds to it and uses it. Where it cannot,
// because others change it at the same time, the search reads the tables as if there
// were no memory.

const (
	selectRevision    = `SELECT coalesce(max(revision), 0) FROM lexical_nodes WHERE workspace_id = $1`
	selectTextChanges = `SELECT node_id, length, terms, revision FROM lexical_nodes WHERE workspace_id = $1
		AND revision > $2 ORDER BY revision LIMIT $3`
	selectKept = `SELECT t.place, p.node_id, p.count, p.length FROM unnest($2::text[]) WITH ORDINALITY AS t (term, place)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1
		AND term = t.term OFFSET 0) p`
	selectChanged = `SELECT t.term, t.id, p.count, p.length FROM unnest($2::text[], $3::uuid[]) AS t (term, id)
		CROSS JOIN LATERAL (SELECT count, length FROM lexical_postings WHERE workspace_id = $1 AND term = t.term
		AND node_id = t.id OFFSET 0) p`
)

// recall is what a search has in memory, as it found it and as it is to become.
type recall struct {
	texts    *workspaceTexts // nil: nothing is kept
	from     int64           // the revision that it found
	loads    int64
	revision int64 // the newest that the search sees
	changes  []textChange
	current  bool // it is as new as the search
}

// queue has it read, beside other things, what changed.
func (r *recall) queue(batch *pgx.Batch, workspace uuid.UUID) {
	if r.texts == nil {
		return
	}
	r.from, r.loads = r.texts.at()
	batch.Queue(selectRevision, workspace).QueryRow(func(row pgx.Row) error { return row.Scan(&r.revision) })
	batch.Queue(selectTextChanges, workspace, r.from, memoryChanges+1).Query(func(rows pgx.Rows) error {
		var c textChange
		var id pgtype.UUID
		_, err := pgx.ForEachRow(rows, []any{&id, &c.length, &c.terms, &c.revision}, func() error {
			c.node = id.Bytes
			r.changes = append(r.changes, c)
			return nil
		})
		return err
	})
}

// recall brings what is in memory up to date.
func (s *textSearch) recall(ctx context.Context) error {
	r := &s.memory
	switch {
	case r.texts == nil:
		return nil
	case len(r.changes) > memoryChanges:
		r.texts.renew(r.revision)
		now, _ := r.texts.at()
		r.current = now >= r.revision
		return nil
	}
	found := map[string][]posting{}
	if terms, nodes := r.texts.wanted(r.changes); len(terms) > 0 {
		rows, err := s.tx.Query(ctx, selectChanged, s.workspace, terms, nodes)
		if err != nil {
			return fmt.Errorf("reading what changed: %w", err)
		}
		var term string
		var p posting
		var id pgtype.UUID
		_, err = pgx.ForEachRow(rows, []any{&term, &id, &p.count, &p.length}, func() error {
			p.node = id.Bytes
			found[term] = append(found[term], p)
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading what changed: %w", err)
		}
	}
	r.current = r.texts.advance(r.from, r.loads, r.revision, r.changes, found)
	return nil
}

// note notes which of the terms are in memory: they cost nothing.
func (s *textSearch) note(terms []searchTerm) {
	if !s.memory.current {
		return
	}
	known := s.memory.texts.knows(terms)
	for i := range terms {
		terms[i].kept = known[terms[i].text]
	}
}

// remember reads the terms that are not in memory, whole, for this search and others;
// but those that too many nodes have.
func (s *textSearch) remember(ctx context.Context, terms []searchTerm) error {
	if !s.memory.current {
		return nil
	}
	var missing []string
	var at []int
	for i, t := range terms {
		if !t.kept && t.nodes <= s.most.postings {
			missing, at = append(missing, t.text), append(at, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := s.tx.Query(ctx, selectKept, s.workspace, missing)
	if err != nil {
		return fmt.Errorf("reading postings: %w", err)
	}
	postings := make([][]posting, len(missing))
	var place int
	var p posting
	var id pgtype.UUID
	_, err = pgx.ForEachRow(rows, []any{&place, &id, &p.count, &p.length}, func() error {
		p.node = id.Bytes
		postings[place-1] = append(postings[place-1], p)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading postings: %w", err)
	}
	if s.memory.texts.keep(s.memory.revision, missing, postings) {
		for _, i := range at {
			terms[i].kept = true
		}
		s.keeper.fit()
	}
	return nil
}

// divide returns the terms that are in memory, and the others.
func (s *textSearch) divide(terms []searchTerm) (kept, others []searchTerm) {
	for _, t := range terms {
		if t.kept {
			kept = append(kept, t)
		} else {
			others = append(others, t)
		}
	}
	return kept, others
}

// scoreKept scores by terms in memory; false: they are not there any more. more says
// that others add to the scores.
func (s *textSearch) scoreKept(terms []searchTerm, more bool) bool {
	of, most := postgres.UUIDs(nil), searchCandidates
	switch {
	case s.bounded:
		of, most = s.few, len(s.few)
	case more || !unfiltered(s.filter):
		most = int(s.most.postings)
	}
	best, there := s.memory.texts.score(terms, bm25K1*(1-bm25B), bm25K1*bm25B/s.average, of, most)
	if len(s.scores) == 0 {
		s.scores = make(map[uuid.UUID]float64, len(best))
	}
	s.sorted = false
	for _, n := range best {
		s.scores[n.id] += n.score
	}
	return there
}
