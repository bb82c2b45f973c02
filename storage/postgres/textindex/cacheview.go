package textindex

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/storage/postgres"
)

// The text cache of a workspace is as of the revision of an earlier search. This file has the
// methods with which a search updates the cache, adds to it and uses it. If a search cannot update
// it, because other searches change it at the same time, it reads the tables as if there was no
// cache.

const (
	selectRevision    = `SELECT coalesce(max(revision), 0) FROM lexical_nodes WHERE workspace_id = $1`
	selectTextChanges = `SELECT node_id, length, terms, revision FROM lexical_nodes WHERE workspace_id = $1
		AND revision > $2 ORDER BY revision LIMIT $3`
	selectPostings = `SELECT t.place, p.node_id, p.count, p.length
		FROM unnest($2::text[]) WITH ORDINALITY AS t (term, place)
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1
		AND term = t.term OFFSET 0) p`
	selectChangedPostings = `SELECT t.term, t.id, p.count, p.length FROM unnest($2::text[], $3::uuid[]) AS t (term, id)
		CROSS JOIN LATERAL (SELECT count, length FROM lexical_postings WHERE workspace_id = $1 AND term = t.term
		AND node_id = t.id OFFSET 0) p`
)

// cacheView is the cache that a search uses, with the revision at its start and the revision to
// which the search updates it.
type cacheView struct {
	cache    *workspaceCache // nil: there is no cache
	from     int64           // revision at the start of the search
	loads    int64
	revision int64 // newest revision in the snapshot of the search
	changes  []textChange
	current  bool // whether the cache is as new as the snapshot
}

// queue queues the queries of the newest revision and of the changes since the cached one.
func (r *cacheView) queue(batch *pgx.Batch, workspace uuid.UUID) {
	if r.cache == nil {
		return
	}
	r.from, r.loads = r.cache.version()
	batch.Queue(selectRevision, workspace).QueryRow(func(row pgx.Row) error { return row.Scan(&r.revision) })
	batch.Queue(selectTextChanges, workspace, r.from, maxCacheChanges+1).Query(func(rows pgx.Rows) error {
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

// refreshCache updates the cache to the snapshot of the search.
func (s *textSearch) refreshCache(ctx context.Context) error {
	r := &s.view
	switch {
	case r.cache == nil:
		return nil
	case len(r.changes) > maxCacheChanges:
		r.cache.reset(r.revision)
		revision, _ := r.cache.version()
		r.current = revision >= r.revision
		return nil
	}
	found := map[string][]posting{}
	if terms, nodes := r.cache.cachedPostings(r.changes); len(terms) > 0 {
		rows, err := s.tx.Query(ctx, selectChangedPostings, s.workspace, terms, nodes)
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
	r.current = r.cache.advance(r.from, r.loads, r.revision, r.changes, found)
	return nil
}

// markCached sets which of the terms are cached. These have no cost.
func (s *textSearch) markCached(terms []searchTerm) {
	if !s.view.current {
		return
	}
	cached := s.view.cache.contains(terms)
	for i := range terms {
		terms[i].cached = cached[terms[i].text]
	}
}

// loadTerms reads all postings of the terms that are not cached, except for terms of too many nodes,
// and adds them to the cache for this search and others.
func (s *textSearch) loadTerms(ctx context.Context, terms []searchTerm) error {
	if !s.view.current {
		return nil
	}
	var missing []string
	var indexes []int
	for i, t := range terms {
		if !t.cached && t.nodes <= s.limits.postings {
			missing, indexes = append(missing, t.text), append(indexes, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := s.tx.Query(ctx, selectPostings, s.workspace, missing)
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
	if s.view.cache.addTerms(s.view.revision, missing, postings) {
		for _, i := range indexes {
			terms[i].cached = true
		}
		s.cache.evict()
	}
	return nil
}

// splitCached returns the terms that are cached, and those that are not.
func (s *textSearch) splitCached(terms []searchTerm) (cached, uncached []searchTerm) {
	for _, t := range terms {
		if t.cached {
			cached = append(cached, t)
		} else {
			uncached = append(uncached, t)
		}
	}
	return cached, uncached
}

// scoreCached scores nodes by cached terms. It returns false if a term is no longer cached. more
// reports that other terms add to the scores.
func (s *textSearch) scoreCached(terms []searchTerm, more bool) bool {
	nodes, limit := postgres.UUIDs(nil), searchCandidates
	switch {
	case s.matchesComplete:
		nodes, limit = s.matches, len(s.matches)
	case more || !s.filter.IsEmpty():
		limit = int(s.limits.postings)
	}
	best, ok := s.view.cache.score(terms, bm25K1*(1-bm25B), bm25K1*bm25B/s.average, nodes, limit)
	if len(s.scores) == 0 {
		s.scores = make(map[uuid.UUID]float64, len(best))
	}
	s.sorted = false
	for _, n := range best {
		s.scores[n.id] += n.score
	}
	return ok
}
