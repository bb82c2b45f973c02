package registry

import (
	"bytes"
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

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// registerChunk is how many series one transaction registers.
	registerChunk = 10_000
	// idAttempts is how many neighbours of a taken id are tried. Two in a row are
	// already beyond any chance; the bound only keeps the loop from running away.
	idAttempts = 64
)

var errNoFreeID = errors.New("registering series: no free id near the fingerprint's")

// RegisterSeries returns the id of each identity, index for index, and registers
// those that are new. ok is false where the workspace's limit of series refuses
// a new one, or the source does not stand (any more). The limit is exact,
// whatever registers at the same time, and two identities never share an id.
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
	if err := r.findKnown(ctx, db.pool); err != nil {
		return postgres.Classify(err)
	}
	if !slices.Contains(r.ok, false) {
		return nil
	}
	return db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		// The workspace's row is the turnstile: who registers new series there
		// goes one by one, so counting them is exact.
		room, err := r.room(ctx, tx)
		if err != nil {
			return err
		}
		if err := r.findKnown(ctx, tx); err != nil {
			return err
		}
		fresh, err := r.fresh(ctx, tx, room)
		if err != nil || len(fresh) == 0 {
			return err
		}
		if err := r.insert(ctx, tx, fresh); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE workspaces SET series = series + $2 WHERE id = $1`, r.workspace, len(fresh))
		if err != nil {
			return fmt.Errorf("counting the series: %w", err)
		}
		r.spread()
		return nil
	})
}

// findKnown fills in the series that are registered, of sources that stand.
func (r *registration) findKnown(ctx context.Context, q postgres.Querier) error {
	prints := make([][]byte, len(r.fps))
	for i := range r.fps {
		prints[i] = r.fps[i][:]
	}
	// Each fingerprint is looked up by itself, and each source. OFFSET 0 keeps the rest
	// out of it: before there are statistics Postgres takes a workspace for a handful of
	// series and sources, and reads all of them for each batch, or for each series.
	rows, err := q.Query(ctx, `
		SELECT s.fingerprint, s.id FROM unnest($1::bytea[]) AS t (fingerprint)
		CROSS JOIN LATERAL (SELECT * FROM series x WHERE x.fingerprint = t.fingerprint OFFSET 0) s
		CROSS JOIN LATERAL (
			SELECT x.deleted_at FROM sources x WHERE x.workspace_id = $2 AND x.id = s.source_id OFFSET 0) src
		WHERE s.workspace_id = $2 AND src.deleted_at IS NULL`, postgres.Planned([]any{prints, r.workspace})...)
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

// room locks the workspace's counter and gives how many series fit.
func (r *registration) room(ctx context.Context, tx pgx.Tx) (int64, error) {
	var series, limit int64
	err := tx.QueryRow(ctx, `
		SELECT series, max_series FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`, r.workspace).
		Scan(&series, &limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil // nothing fits into a workspace that is gone
	}
	if err != nil {
		return 0, fmt.Errorf("reading the workspace's limit: %w", err)
	}
	return max(limit-series, 0), nil
}

// fresh returns the indexes of the series to add: of sources that stand, each
// identity once, as many as there is room for.
func (r *registration) fresh(ctx context.Context, tx pgx.Tx, room int64) ([]int, error) {
	standing := map[uuid.UUID]bool{}
	for i := range r.idents {
		if !r.ok[i] {
			standing[r.idents[i].Source] = false
		}
	}
	sources := slices.SortedFunc(maps.Keys(standing), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	// The lock keeps the sources from being deleted until the series are in. Anyone who
	// waited for a deletion sees it.
	rows, err := tx.Query(ctx, `
		SELECT s.id FROM unnest($2::uuid[]) AS t (id) CROSS JOIN LATERAL (
			SELECT x.id, x.deleted_at FROM sources x WHERE x.workspace_id = $1 AND x.id = t.id FOR SHARE) s
		WHERE s.deleted_at IS NULL`, postgres.Planned([]any{r.workspace, sources})...)
	if err != nil {
		return nil, fmt.Errorf("locking sources: %w", err)
	}
	var id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { standing[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("locking sources: %w", err)
	}
	var fresh []int
	seen := map[pointblock.Fingerprint]bool{}
	for i := range r.idents {
		if r.ok[i] || seen[r.fps[i]] || !standing[r.idents[i].Source] || int64(len(fresh)) == room {
			continue
		}
		seen[r.fps[i]] = true
		fresh = append(fresh, i)
	}
	return fresh, nil
}

// sourceBits is how many of an id's upper bits are of its source.
const sourceBits = 24

// preferred returns the id that a series gets unless it is taken. The upper bits are
// of the source, the others of the fingerprint: ClickHouse sorts points by id, and
// so those of a source's series, which are mostly read together, lie together
// (docs/adr/0019-reading-points.md).
func (r *registration) preferred(i int) uint64 {
	const ofSeries = 1<<(64-sourceBits) - 1
	source := xxhash.New()
	_, _ = source.Write(r.workspace[:]) // a source's id is its workspace's alone
	_, _ = source.Write(r.idents[i].Source[:])
	return source.Sum64()&^ofSeries | r.fps[i].SeriesID()&ofSeries
}

// insert adds the fresh series, each under the id it prefers or, where that is
// taken, the next one that is free.
func (r *registration) insert(ctx context.Context, tx pgx.Tx, fresh []int) error {
	left := slices.Clone(fresh)
	for attempt := range uint64(idAttempts) {
		// In one order in every transaction: ids are unique beyond the workspace.
		slices.SortFunc(left, func(a, b int) int {
			return cmp.Compare(int64(r.preferred(a)+attempt), int64(r.preferred(b)+attempt))
		})
		columns, err := r.columns(left, attempt)
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
		added := make(map[pointblock.Fingerprint]uint64, len(left))
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
		left = slices.DeleteFunc(left, func(i int) bool {
			r.ids[i], r.ok[i] = added[r.fps[i]]
			return r.ok[i]
		})
		if len(left) == 0 {
			return nil
		}
	}
	return errNoFreeID
}

// columns returns the rows to insert, by column.
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
		ids[row], prints[row], sources[row] = int64(r.preferred(i)+attempt), r.fps[i][:], ident.Source
		metrics[row], tags[row], kinds[row] = ident.Metric, string(text), int16(ident.Kind)
	}
	return []any{ids, prints, sources, metrics, tags, kinds}, nil
}

// spread sets for an identity that occurs more than once in the chunk the id that
// its first occurrence got.
func (r *registration) spread() {
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
