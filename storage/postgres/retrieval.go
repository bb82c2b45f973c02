package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// What a search found is read again here, as it stands now: an index of texts or of
// vectors may be behind, the tables are not.

// FoundNodes reads those of the nodes that stand and pass the filter.
func (db *DB) FoundNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) (map[uuid.UUID]graph.Node, error) {
	found := make(map[uuid.UUID]graph.Node, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	list, err := foundAll(
		ctx, db.pool, `SELECT `+nodeColumns+` FROM nodes n WHERE `, foundWhere(workspace, ids, f), scanNode,
	)
	if err != nil {
		return nil, classify(fmt.Errorf("reading the nodes that were found: %w", err))
	}
	for _, n := range list {
		found[n.ID] = n
	}
	return found, nil
}

// PassingNodes returns the ids of the nodes that FoundNodes would read.
func (db *DB) PassingNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := passing(ctx, db.pool, workspace, ids, f)
	return list, classify(err)
}

// passing is PassingNodes on a connection.
func passing(
	ctx context.Context, q queryer, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	list, err := foundAll(ctx, q, `SELECT n.id FROM nodes n WHERE `, foundWhere(workspace, ids, f), scanID)
	if err != nil {
		return nil, fmt.Errorf("looking at the nodes that were found: %w", err)
	}
	return list, nil
}

// FoundEdges reads those of the edges that stand.
func (db *DB) FoundEdges(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]graph.Edge, error) {
	found := make(map[uuid.UUID]graph.Edge, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	w := &where{}
	w.add("workspace_id = ?", workspace)
	w.add("id = ANY(?)", idArray(ids))
	w.add("NOT deleted")
	list, err := foundAll(ctx, db.pool, `SELECT `+edgeColumns+` FROM edges WHERE `, w, scanEdge)
	if err != nil {
		return nil, classify(fmt.Errorf("reading the edges of paths: %w", err))
	}
	for _, e := range list {
		found[e.ID] = e
	}
	return found, nil
}

// MatchingNodes returns up to limit nodes that stand and pass the filter, in no order,
// and whether there are more.
func (db *DB) MatchingNodes(
	ctx context.Context, workspace uuid.UUID, f retrieval.Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	err = db.reading(ctx, func(tx pgx.Tx) error {
		ids, more, err = matching(ctx, tx, workspace, f, limit)
		return err
	})
	return ids, more, classify(err)
}

// matching is MatchingNodes on a connection.
func matching(
	ctx context.Context, q queryer, workspace uuid.UUID, f retrieval.Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	w := foundWhere(workspace, nil, f)
	rows, err := q.Query(
		ctx, fmt.Sprintf(`SELECT n.id FROM nodes n WHERE %s LIMIT %d`, w.text(), limit+1), planned(w.args)...,
	)
	if err == nil {
		ids, err = pgx.CollectRows(rows, scanID)
	}
	if err != nil {
		return nil, false, fmt.Errorf("looking for what passes a filter: %w", err)
	}
	more = len(ids) > limit
	return ids[:min(len(ids), limit)], more, nil
}

// foundAll reads what a condition wants, in a statement that is planned for its
// values.
func foundAll[T any](ctx context.Context, q queryer, query string, w *where, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := q.Query(ctx, query+w.text(), planned(w.args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// idArray is a list of ids as pgx writes it without making texts of them first, which
// takes longer than many a query.
func idArray(ids []uuid.UUID) uuids {
	list := make(uuids, len(ids))
	for i, id := range ids {
		list[i] = column(id)
	}
	return list
}

// scanID reads an id, likewise.
func scanID(row pgx.CollectableRow) (uuid.UUID, error) {
	var id pgtype.UUID
	err := row.Scan(&id)
	return id.Bytes, err
}

// foundWhere is the condition of nodes n that stand and pass a filter; ids nil: any.
func foundWhere(workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter) *where {
	w := &where{}
	w.add("n.workspace_id = ?", workspace)
	if ids != nil {
		w.add("n.id = ANY(?)", idArray(ids))
	}
	addPassing(w, f)
	return w
}

// addPassing adds that a node n stands and passes a filter.
func addPassing(w *where, f retrieval.Filter) {
	w.add("NOT n.deleted")
	addFilter(w, f)
}

// addFilter adds what a filter wants of nodes n. A property is one of the values, the
// whole of it: @> finds by the index what contains a value, and an object contains
// others than itself.
func addFilter(w *where, f retrieval.Filter) {
	if len(f.EntityTypes) > 0 {
		w.add("n.entity_type = ANY(?)", f.EntityTypes)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		either := []string{"false"} // of no values
		for _, value := range f.Properties[name] {
			condition := "n.properties @> " + w.arg(string(property(name, value))) + "::jsonb"
			if kind := value.Kind(); kind == '{' || kind == '[' {
				condition = "(" + condition + " AND n.properties -> " + w.arg(name) + "::text = " + w.arg(string(value)) +
					"::jsonb)"
			}
			either = append(either, condition)
		}
		w.conditions = append(w.conditions, "("+strings.Join(either, " OR ")+")")
	}
}
