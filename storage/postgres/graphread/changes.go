package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres"
)

// ChangeSize is how large an entry of the journal is, so that a reader can take no
// more at a time than it has room for: a batch may have made one of many megabytes.
type ChangeSize struct {
	Sequence int64
	Bytes    int64
}

// GraphSequences returns the sequence of the newest change of each of the workspaces;
// of one without changes 0.
func (db *Store) GraphSequences(ctx context.Context, workspaces []uuid.UUID) (map[uuid.UUID]int64, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT workspace_id, sequence FROM graph_heads WHERE workspace_id = ANY($1)`, workspaces,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the heads of graphs: %w", err))
	}
	heads := make(map[uuid.UUID]int64, len(workspaces))
	var (
		workspace uuid.UUID
		sequence  int64
	)
	_, err = pgx.ForEachRow(rows, []any{&workspace, &sequence}, func() error { heads[workspace] = sequence; return nil })
	return heads, postgres.Classify(err)
}

// ChangesAfter lists at most limit of the changes that follow a sequence, in order.
func (db *Store) ChangesAfter(ctx context.Context, workspace uuid.UUID, after int64, limit int) ([]ChangeSize, error) {
	rows, err := db.pool.Query(ctx, `SELECT sequence, octet_length(change)::bigint FROM journal
		WHERE workspace_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, workspace, after, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing changes: %w", err))
	}
	sizes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ChangeSize])
	return sizes, postgres.Classify(err)
}

// HistoryPage says which part of a history, newest first: Limit after Offset, or
// those below the sequence Before.
type HistoryPage struct {
	Limit  int
	Offset int
	Before int64 // 0: from the newest on
}

// NodeHistory lists the changes that touched a node or its edges, and how many there
// are in all.
func (db *Store) NodeHistory(
	ctx context.Context, workspace, node uuid.UUID, page HistoryPage,
) (sizes []ChangeSize, total int64, err error) {
	return db.history(ctx, page,
		`SELECT count(*) FROM journal_nodes WHERE workspace_id = $1 AND node_id = $2`,
		`SELECT sequence, octet_length(change)::bigint FROM journal_nodes JOIN journal USING (workspace_id, sequence)
			WHERE workspace_id = $1 AND node_id = $2 AND sequence < $3 ORDER BY sequence DESC OFFSET $4 LIMIT $5`,
		workspace, node)
}

// History lists the changes of the workspace, and how many there are in all.
func (db *Store) History(
	ctx context.Context, workspace uuid.UUID, page HistoryPage,
) (sizes []ChangeSize, total int64, err error) {
	return db.history(ctx, page,
		`SELECT COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0)`, // without gaps from 1
		`SELECT sequence, octet_length(change)::bigint FROM journal
			WHERE workspace_id = $1 AND sequence < $2 ORDER BY sequence DESC OFFSET $3 LIMIT $4`, workspace)
}

func (db *Store) history(
	ctx context.Context, page HistoryPage, counting, listing string, args ...any,
) (sizes []ChangeSize, total int64, err error) {
	before := page.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	batch := &pgx.Batch{}
	batch.Queue(counting, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	batch.Queue(listing, append(args, before, page.Offset, page.Limit)...).Query(func(rows pgx.Rows) (err error) {
		sizes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ChangeSize])
		return err
	})
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("listing a history: %w", err))
	}
	return sizes, total, nil
}

// Changes reads entries of the journal, in the order of the sizes.
func (db *Store) Changes(ctx context.Context, workspace uuid.UUID, sizes []ChangeSize) ([]*eventsv1.Change, error) {
	sequences, place := make([]int64, len(sizes)), make(map[int64]int, len(sizes))
	for i, s := range sizes {
		sequences[i], place[s.Sequence] = s.Sequence, i
	}
	rows, err := db.pool.Query(
		ctx, `SELECT sequence, change FROM journal WHERE workspace_id = $1 AND sequence = ANY($2)`, workspace, sequences,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading changes: %w", err))
	}
	changes := make([]*eventsv1.Change, len(sizes))
	var (
		sequence int64
		raw      []byte
	)
	read := 0
	_, err = pgx.ForEachRow(rows, []any{&sequence, &raw}, func() error {
		change := &eventsv1.Change{}
		if err := proto.Unmarshal(raw, change); err != nil {
			return fmt.Errorf("change %d of workspace %s: %w", sequence, workspace, err)
		}
		changes[place[sequence]] = change
		read++
		return nil
	})
	if err == nil && read != len(sizes) {
		err = fmt.Errorf("of %d changes of workspace %s %d are in the journal", len(sizes), workspace, read)
	}
	return changes, postgres.Classify(err)
}

// CascadeRow is how many ids a row of cascade_edges has at most.
const CascadeRow = 10_000

// CascadeEdges returns the ids of the edges that a change took with a node, or brought
// back with it, from one place to before another in the order of their ids: fewer
// where there are no more, and none of a cascade that the journal lists whole.
func (db *Store) CascadeEdges(
	ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error) {
	rows, err := db.pool.Query(ctx, `SELECT edge_ids[GREATEST($4 - place, 0) + 1 : $5 - place] FROM cascade_edges
		WHERE workspace_id = $1 AND sequence = $2 AND node_id = $3 AND place < $5 AND place + cardinality(edge_ids) > $4
		ORDER BY place`, workspace, sequence, node, from, to)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the edges of a cascade: %w", err))
	}
	var all, ids []uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&ids}, func() error { all = append(all, ids...); return nil })
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the edges of a cascade: %w", err))
	}
	return all, nil
}
