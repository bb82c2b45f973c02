package graphread

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Columns of nodes and edges for readers. Those that only undo needs are left out, so no command
// can be decided with a resource that was read with these.
const (
	nodeColumns = `id, name, entity_type, description, properties, created_at, updated_at, version`
	edgeColumns = `id, source_id, target_id, relation_type, properties, created_at, updated_at, version`
)

// Node reads a live node. The error is NotFound for any other id.
func (db *Store) Node(ctx context.Context, workspace, id uuid.UUID) (graph.Node, error) {
	n, err := readOne(
		ctx, db, nodes, `SELECT `+nodeColumns+` FROM nodes WHERE workspace_id = $1 AND id = $2 AND NOT deleted`, workspace,
		id,
	)
	if errors.Is(err, pgx.ErrNoRows) {
		return n, fault.New(fault.NotFound, "No such node")
	}
	return n, err
}

// Edge reads a live edge. The error is NotFound for any other id.
func (db *Store) Edge(ctx context.Context, workspace, id uuid.UUID) (graph.Edge, error) {
	e, err := readOne(
		ctx, db, edges, `SELECT `+edgeColumns+` FROM edges WHERE workspace_id = $1 AND id = $2 AND NOT deleted`, workspace,
		id,
	)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, fault.New(fault.NotFound, "No such edge")
	}
	return e, err
}

func readOne[T any](ctx context.Context, db *Store, res resource[T], query string, args ...any) (T, error) {
	rows, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		var zero T
		return zero, postgres.Classify(fmt.Errorf("reading %s: %w", res.table, err))
	}
	one, err := pgx.CollectOneRow(rows, res.scan)
	return one, postgres.Classify(err)
}

func scanNode(row pgx.CollectableRow) (graph.Node, error) {
	var (
		n    graph.Node
		text StoredText
	)
	if err := row.Scan(
		&n.ID, &n.Name, &n.EntityType, &n.Description, &text.Properties, &n.CreatedAt, &n.UpdatedAt, &n.Version,
	); err != nil {
		return n, err
	}
	return n, text.Into(&n.Properties, &n.Lifecycle)
}

func scanEdge(row pgx.CollectableRow) (graph.Edge, error) {
	var (
		e    graph.Edge
		text StoredText
	)
	if err := row.Scan(
		&e.ID, &e.SourceID, &e.TargetID, &e.RelationType, &text.Properties, &e.CreatedAt, &e.UpdatedAt, &e.Version,
	); err != nil {
		return e, err
	}
	return e, text.Into(&e.Properties, &e.Lifecycle)
}

// StoredText is the JSON of columns; nil if a column was not read.
type StoredText struct {
	Properties []byte
	Stamps     []byte
}

// Into decodes the columns to the form that package graph requires: empty properties are nil, times
// are in UTC.
func (t *StoredText) Into(p *graph.Properties, l *graph.Lifecycle) (err error) {
	if *p, err = graph.ReadProperties(jsontext.Value(t.Properties)); err != nil {
		return fmt.Errorf("reading properties: %w", err)
	}
	if l.Stamps = nil; t.Stamps != nil {
		if err := json.Unmarshal(t.Stamps, &l.Stamps); err != nil {
			return fmt.Errorf("reading stamps: %w", err)
		}
	}
	l.CreatedAt, l.UpdatedAt = l.CreatedAt.UTC(), l.UpdatedAt.UTC()
	return nil
}
