// Package graphrow has the columns of the rows of nodes and edges, and reads such rows.
package graphrow

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
)

// Columns of nodes and edges for readers. Those that only undo needs are left out, so no command
// can be decided with a resource that was read with these.
const (
	NodeColumns = `id, name, entity_type, description, properties, created_at, updated_at, version`
	EdgeColumns = `id, source_id, target_id, relation_type, properties, created_at, updated_at, version`
)

// ScanNode reads a row with NodeColumns.
func ScanNode(row pgx.CollectableRow) (graph.Node, error) {
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

// ScanEdge reads a row with EdgeColumns.
func ScanEdge(row pgx.CollectableRow) (graph.Edge, error) {
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
