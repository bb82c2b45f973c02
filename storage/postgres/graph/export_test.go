package graphstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// BeginGraphWith is BeginGraph with another limit of the edges of a node in memory.
func (db *Store) BeginGraphWith(ctx context.Context, g Group, edges int) (*Tx, error) {
	return db.beginGraph(ctx, g, edges)
}

// SelectStacks is the statement that reads the stacks of actors.
const SelectStacks = selectStacks

// Statements of the look-ups of upserts.
const (
	SelectKeyNodes     = selectKeyNodes
	SelectEdgesBetween = selectEdgesBetween
)

// Exec runs a statement in the group's transaction.
func (tx *Tx) Exec(statement string) error {
	_, err := tx.conn.Exec(tx.ctx, statement)
	return err
}

// QueryRow queries a row in the group's transaction.
func (tx *Tx) QueryRow(query string, args ...any) pgx.Row {
	return tx.conn.QueryRow(tx.ctx, query, args...)
}

// PruneEntriesTo is PruneEntries with the number of commands in effect to keep.
func (db *Store) PruneEntriesTo(
	ctx context.Context, workspace uuid.UUID, after int64, kept int,
) (pruned, next int64, err error) {
	return db.pruneEntries(ctx, workspace, after, kept)
}

// Statements of PruneEntries.
const (
	SelectEntries = selectEntries
	KeptBounds    = keptBounds
	DeleteEntries = deleteEntries
)
