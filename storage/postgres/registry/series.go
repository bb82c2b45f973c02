package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// registerChunk is the number of series that one transaction registers.
	registerChunk = 10_000
	// idAttempts is the number of consecutive ids that are tried for a series. Two
	// collisions in a row are already very unlikely; the limit only bounds the loop.
	idAttempts = 64
)

var errNoFreeID = errors.New("registering series: no free id near the fingerprint's")

// RegisterSeries registers the identities that are new and returns the id of each identity
// at the same index. ok is false where a new series would exceed the workspace's limit, or
// the source does not exist or is deleted. The limit is exact under concurrency, and two
// identities never share an id.
func (db *Store) RegisterSeries(
	ctx context.Context, workspace uuid.UUID, idents []pointblock.Identity, fps []pointblock.Fingerprint,
) (ids []uint64, ok []bool, err error) {
	ids, ok = make([]uint64, len(idents)), make([]bool, len(idents))
	for from := 0; from < len(idents); from += registerChunk {
		to := min(from+registerChunk, len(idents))
		r := registration{
			workspace: workspace, idents: idents[from:to], fps: fps[from:to], ids: ids[from:to], ok: ok[from:to],
		}
		if err := r.run(ctx, db); err != nil {
			return nil, nil, err
		}
	}
	return ids, ok, nil
}

// registration is one chunk of RegisterSeries.
type registration struct {
	workspace uuid.UUID
	idents    []pointblock.Identity
	fps       []pointblock.Fingerprint
	ids       []uint64
	ok        []bool
}

func (r *registration) run(ctx context.Context, db *Store) error {
	if err := r.findExisting(ctx, db.pool); err != nil {
		return postgres.Classify(err)
	}
	if !slices.Contains(r.ok, false) {
		return nil
	}
	return db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		// The lock on the workspace's row serializes the registration of new series, so
		// that their count is exact.
		remaining, err := r.remainingSeries(ctx, tx)
		if err != nil {
			return err
		}
		if err := r.findExisting(ctx, tx); err != nil {
			return err
		}
		newRows, err := r.selectNew(ctx, tx, remaining)
		if err != nil || len(newRows) == 0 {
			return err
		}
		if err := r.insert(ctx, tx, newRows); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE workspaces SET series = series + $2 WHERE id = $1`, r.workspace, len(newRows))
		if err != nil {
			return fmt.Errorf("counting the series: %w", err)
		}
		r.fillDuplicates()
		return nil
	})
}

// findExisting sets ids and ok of the series that are registered and whose source is not deleted.
func (r *registration) findExisting(ctx context.Context, q postgres.Querier) error {
	fingerprints := make([][]byte, len(r.fps))
	for i := range r.fps {
		fingerprints[i] = r.fps[i][:]
	}
	// OFFSET 0 makes Postgres look up each fingerprint and each source separately. Without
	// statistics it would estimate that a workspace has a handful of series and sources,
	// and read all of them for each batch or for each series.
	rows, err := q.Query(ctx, `
		SELECT s.fingerprint, s.id FROM unnest($1::bytea[]) AS t (fingerprint)
		CROSS JOIN LATERAL (SELECT * FROM series x WHERE x.fingerprint = t.fingerprint OFFSET 0) s
		CROSS JOIN LATERAL (
			SELECT x.deleted_at FROM sources x WHERE x.workspace_id = $2 AND x.id = s.source_id OFFSET 0) src
		WHERE s.workspace_id = $2 AND src.deleted_at IS NULL`, postgres.WithCustomPlan([]any{fingerprints, r.workspace})...)
	if err != nil {
		return fmt.Errorf("looking up series: %w", err)
	}
	known := make(map[pointblock.Fingerprint]uint64, len(r.fps))
	var (
		raw []byte
		id  int64
	)
	_, err = pgx.ForEachRow(rows, []any{&raw, &id}, func() error {
		known[pointblock.Fingerprint(raw)] = uint64(id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("looking up series: %w", err)
	}
	for i, fp := range r.fps {
		r.ids[i], r.ok[i] = known[fp]
	}
	return nil
}

// remainingSeries locks the workspace's counter and returns the number of series that can be added.
func (r *registration) remainingSeries(ctx context.Context, tx pgx.Tx) (int64, error) {
	var series, limit int64
	err := tx.QueryRow(ctx, `
		SELECT series, max_series FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`, r.workspace).
		Scan(&series, &limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil // a deleted workspace accepts no series
	}
	if err != nil {
		return 0, fmt.Errorf("reading the workspace's limit: %w", err)
	}
	return max(limit-series, 0), nil
}

// selectNew returns the indexes of the series to add: each identity once, only of sources
// that are not deleted, and at most remaining ones.
func (r *registration) selectNew(ctx context.Context, tx pgx.Tx, remaining int64) ([]int, error) {
	live := map[uuid.UUID]bool{}
	for i := range r.idents {
		if !r.ok[i] {
			live[r.idents[i].Source] = false
		}
	}
	sources := slices.SortedFunc(maps.Keys(live), uuids.Compare)
	// The lock prevents the deletion of the sources until the series are committed. A
	// transaction that waited for a deletion sees it.
	rows, err := tx.Query(ctx, `
		SELECT s.id FROM unnest($2::uuid[]) AS t (id) CROSS JOIN LATERAL (
			SELECT x.id, x.deleted_at FROM sources x WHERE x.workspace_id = $1 AND x.id = t.id FOR SHARE) s
		WHERE s.deleted_at IS NULL`, postgres.WithCustomPlan([]any{r.workspace, sources})...)
	if err != nil {
		return nil, fmt.Errorf("locking sources: %w", err)
	}
	var id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { live[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("locking sources: %w", err)
	}
	var newRows []int
	seen := map[pointblock.Fingerprint]bool{}
	for i := range r.idents {
		if r.ok[i] || seen[r.fps[i]] || !live[r.idents[i].Source] || int64(len(newRows)) == remaining {
			continue
		}
		seen[r.fps[i]] = true
		newRows = append(newRows, i)
	}
	return newRows, nil
}

// sourceBits is the number of upper bits of an id that are derived from its source.
const sourceBits = 24

// preferredID returns the id that a series gets unless it is taken. The upper bits are
// derived from the source, the others from the fingerprint. ClickHouse sorts points by id,
// so that the points of a source's series, which are mostly read together, are adjacent
// (docs/adr/0019-reading-points.md).
func (r *registration) preferredID(i int) uint64 {
	const seriesMask = 1<<(64-sourceBits) - 1
	source := xxhash.New()
	_, _ = source.Write(r.workspace[:]) // a source's id is only unique within its workspace
	_, _ = source.Write(r.idents[i].Source[:])
	return source.Sum64()&^seriesMask | r.fps[i].SeriesID()&seriesMask
}

// insert adds the series of newRows. Each gets its preferred id or, if that is taken, the
// next free one.
func (r *registration) insert(ctx context.Context, tx pgx.Tx, newRows []int) error {
	pending := slices.Clone(newRows)
	for attempt := range uint64(idAttempts) {
		// All transactions insert in the same order to avoid deadlocks, because ids are
		// unique across workspaces.
		slices.SortFunc(pending, func(a, b int) int {
			return cmp.Compare(int64(r.preferredID(a)+attempt), int64(r.preferredID(b)+attempt))
		})
		columns, err := r.columns(pending, attempt)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			INSERT INTO series (id, fingerprint, workspace_id, source_id, metric, tags, kind)
			SELECT n.id, n.fingerprint, $1, n.source, n.metric, n.tags::jsonb, n.kind
			FROM unnest($2::bigint[], $3::bytea[], $4::uuid[], $5::text[], $6::text[], $7::smallint[])
				AS n(id, fingerprint, source, metric, tags, kind)
			ON CONFLICT (id) DO NOTHING RETURNING fingerprint, id`, append([]any{r.workspace}, columns...)...)
		if err != nil {
			return fmt.Errorf("registering series: %w", err)
		}
		added := make(map[pointblock.Fingerprint]uint64, len(pending))
		var (
			raw []byte
			id  int64
		)
		_, err = pgx.ForEachRow(rows, []any{&raw, &id}, func() error {
			added[pointblock.Fingerprint(raw)] = uint64(id)
			return nil
		})
		if err != nil {
			return fmt.Errorf("registering series: %w", err)
		}
		pending = slices.DeleteFunc(pending, func(i int) bool {
			r.ids[i], r.ok[i] = added[r.fps[i]]
			return r.ok[i]
		})
		if len(pending) == 0 {
			return nil
		}
	}
	return errNoFreeID
}

// columns returns the columns of the rows to insert.
func (r *registration) columns(rows []int, attempt uint64) ([]any, error) {
	n := len(rows)
	ids, prints, sources := make([]int64, n), make([][]byte, n), make([]uuid.UUID, n)
	metrics, tags, kinds := make([]string, n), make([]string, n), make([]int16, n)
	for row, i := range rows {
		ident := &r.idents[i]
		labels := make(map[string]string, len(ident.Tags))
		for _, tag := range ident.Tags {
			labels[tag.Key] = tag.Value
		}
		text, err := json.Marshal(labels, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encoding tags: %w", err)
		}
		ids[row], prints[row], sources[row] = int64(r.preferredID(i)+attempt), r.fps[i][:], ident.Source
		metrics[row], tags[row], kinds[row] = ident.Metric, string(text), int16(ident.Kind)
	}
	return []any{ids, prints, sources, metrics, tags, kinds}, nil
}

// fillDuplicates sets the id of repeated identities in the chunk to the id of the first
// occurrence.
func (r *registration) fillDuplicates() {
	found := make(map[pointblock.Fingerprint]uint64, len(r.fps))
	for i, fp := range r.fps {
		if r.ok[i] {
			found[fp] = r.ids[i]
		}
	}
	for i, fp := range r.fps {
		if !r.ok[i] {
			r.ids[i], r.ok[i] = found[fp]
		}
	}
}
