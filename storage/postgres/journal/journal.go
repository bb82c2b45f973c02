// Package journal reads the journal of a graph: its changes in order, for the whole graph or a node, and the edges of a
// cascade. Commands write it; see storage/postgres/graph.
package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Store reads the journal in a database.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a database.
func New(db *postgres.DB) *Store { return &Store{db.Pool()} }

// ChangeSize is the size of an entry of the journal. A reader uses it to limit how much it reads
// at a time, because the entry of a batch can have many megabytes.
type ChangeSize struct {
	Sequence int64
	Bytes    int64
}

// GraphSequences returns the sequence of the newest change of each of the workspaces. A workspace
// without changes has 0 or no entry.
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

// ChangesAfter lists at most limit changes after a sequence, in order.
func (db *Store) ChangesAfter(ctx context.Context, workspace uuid.UUID, after int64, limit int) ([]ChangeSize, error) {
	rows, err := db.pool.Query(ctx, `SELECT sequence, octet_length(change)::bigint FROM journal
		WHERE workspace_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, workspace, after, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing changes: %w", err))
	}
	sizes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ChangeSize])
	return sizes, postgres.Classify(err)
}

// ChangeActor returns the actor of a change, uuid.Nil if there is no such change.
func (db *Store) ChangeActor(ctx context.Context, workspace uuid.UUID, sequence int64) (uuid.UUID, error) {
	var encoded []byte
	err := db.pool.QueryRow(ctx, `SELECT change FROM journal WHERE workspace_id = $1 AND sequence = $2`, workspace,
		sequence).Scan(&encoded)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil
	}
	var change eventsv1.Change
	if err == nil {
		err = proto.Unmarshal(encoded, &change)
	}
	if err != nil {
		return uuid.Nil, postgres.Classify(fmt.Errorf("reading the actor of a change: %w", err))
	}
	actor, _ := uuid.FromBytes(change.GetActorId())
	return actor, nil
}

// HistoryPage selects a part of a history, newest first: at most Limit changes after the first
// Offset ones, and only those below the sequence Before.
type HistoryPage struct {
	Limit  int
	Offset int
	Before int64 // 0: no bound
}

// NodeHistory returns a page of the changes that touched a node or its edges, and their total
// number.
func (db *Store) NodeHistory(
	ctx context.Context, workspace, node uuid.UUID, page HistoryPage,
) (sizes []ChangeSize, total int64, err error) {
	return db.history(ctx, page,
		`SELECT count(*) FROM journal_nodes WHERE workspace_id = $1 AND node_id = $2`,
		`SELECT sequence, octet_length(change)::bigint FROM journal_nodes JOIN journal USING (workspace_id, sequence)
			WHERE workspace_id = $1 AND node_id = $2 AND sequence < $3 ORDER BY sequence DESC OFFSET $4 LIMIT $5`,
		workspace, node)
}

// History returns a page of the changes of the workspace, and their total number.
func (db *Store) History(
	ctx context.Context, workspace uuid.UUID, page HistoryPage,
) (sizes []ChangeSize, total int64, err error) {
	return db.history(ctx, page,
		`SELECT COALESCE((SELECT sequence FROM graph_heads WHERE workspace_id = $1), 0)`, // from 1 without gaps
		`SELECT sequence, octet_length(change)::bigint FROM journal
			WHERE workspace_id = $1 AND sequence < $2 ORDER BY sequence DESC OFFSET $3 LIMIT $4`, workspace)
}

func (db *Store) history(
	ctx context.Context, page HistoryPage, countSQL, listSQL string, args ...any,
) (sizes []ChangeSize, total int64, err error) {
	before := page.Before
	if before == 0 {
		before = 1<<63 - 1
	}
	batch := &pgx.Batch{}
	batch.Queue(countSQL, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	batch.Queue(listSQL, append(args, before, page.Offset, page.Limit)...).Query(func(rows pgx.Rows) (err error) {
		sizes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ChangeSize])
		return err
	})
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("listing a history: %w", err))
	}
	return sizes, total, nil
}

// Changes reads the entries of the journal with the sequences of sizes, in their order. An entry
// that is missing is an error.
func (db *Store) Changes(ctx context.Context, workspace uuid.UUID, sizes []ChangeSize) ([]*eventsv1.Change, error) {
	sequences, index := make([]int64, len(sizes)), make(map[int64]int, len(sizes))
	for i, s := range sizes {
		sequences[i], index[s.Sequence] = s.Sequence, i
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
		changes[index[sequence]] = change
		read++
		return nil
	})
	if err == nil && read != len(sizes) {
		err = fmt.Errorf("of %d changes of workspace %s %d are in the journal", len(sizes), workspace, read)
	}
	return changes, postgres.Classify(err)
}

// CascadeRow is the maximum number of ids in a row of cascade_edges.
const CascadeRow = 10_000

// CascadeEdges returns the ids of the edges that a change deleted or restored together with a
// node, in the order of ids, from the index from to before the index to. It returns fewer if
// there are no more, and none of a cascade whose edges are all listed in the journal.
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
