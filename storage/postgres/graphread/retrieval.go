package graphread

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
	"github.com/livegraph/livegraph/storage/postgres"
)

// What a search found is read again here, as it is now: an index of texts or of
// vectors may be behind, the tables are not.

// FoundNodes reads those of the nodes that stand and pass the filter.
func (db *Store) FoundNodes(
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
		return nil, postgres.Classify(fmt.Errorf("reading the nodes that were found: %w", err))
	}
	for _, n := range list {
		found[n.ID] = n
	}
	return found, nil
}

// PassingNodes returns the ids of the nodes that FoundNodes would read.
func (db *Store) PassingNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := Passing(ctx, db.pool, workspace, ids, f)
	return list, postgres.Classify(err)
}

// Passing is PassingNodes on a connection.
func Passing(
	ctx context.Context, q postgres.Querier, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	list, err := foundAll(ctx, q, `SELECT n.id FROM nodes n WHERE `, foundWhere(workspace, ids, f), scanID)
	if err != nil {
		return nil, fmt.Errorf("looking at the nodes that were found: %w", err)
	}
	return list, nil
}

// FoundEdges reads those of the edges that stand.
func (db *Store) FoundEdges(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]graph.Edge, error) {
	found := make(map[uuid.UUID]graph.Edge, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	w := &postgres.Where{}
	w.Add("workspace_id = ?", workspace)
	w.Add("id = ANY(?)", IDArray(ids))
	w.Add("NOT deleted")
	list, err := foundAll(ctx, db.pool, `SELECT `+edgeColumns+` FROM edges WHERE `, w, scanEdge)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the edges of paths: %w", err))
	}
	for _, e := range list {
		found[e.ID] = e
	}
	return found, nil
}

// MatchingNodes returns up to limit nodes that stand and pass the filter, in no order,
// and whether there are more.
func (db *Store) MatchingNodes(
	ctx context.Context, workspace uuid.UUID, f retrieval.Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	err = db.root.Reading(ctx, func(tx pgx.Tx) error {
		ids, more, err = Matching(ctx, tx, workspace, f, limit)
		return err
	})
	return ids, more, postgres.Classify(err)
}

// Matching is MatchingNodes on a connection.
func Matching(
	ctx context.Context, q postgres.Querier, workspace uuid.UUID, f retrieval.Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	w := foundWhere(workspace, nil, f)
	rows, err := q.Query(
		ctx, fmt.Sprintf(`SELECT n.id FROM nodes n WHERE %s LIMIT %d`, w.Text(), limit+1), postgres.Planned(w.Args)...,
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
func foundAll[T any](
	ctx context.Context, q postgres.Querier, query string, w *postgres.Where, scan pgx.RowToFunc[T],
) ([]T, error) {
	rows, err := q.Query(ctx, query+w.Text(), postgres.Planned(w.Args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// IDArray is a list of ids as pgx writes it without making texts of them first, which
// takes longer than many a query.
func IDArray(ids []uuid.UUID) postgres.UUIDs {
	list := make(postgres.UUIDs, len(ids))
	for i, id := range ids {
		list[i] = postgres.UUID(id)
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
func foundWhere(workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter) *postgres.Where {
	w := &postgres.Where{}
	w.Add("n.workspace_id = ?", workspace)
	if ids != nil {
		w.Add("n.id = ANY(?)", IDArray(ids))
	}
	AddPassing(w, f)
	return w
}

// AddPassing adds that a node n stands and passes a filter.
func AddPassing(w *postgres.Where, f retrieval.Filter) {
	w.Add("NOT n.deleted")
	addFilter(w, f)
}

// addFilter adds what a filter wants of nodes n. A property is one of the values, the
// whole of it: @> finds by the index what contains a value, and an object contains
// others than itself.
func addFilter(w *postgres.Where, f retrieval.Filter) {
	if len(f.EntityTypes) > 0 {
		w.Add("n.entity_type = ANY(?)", f.EntityTypes)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		either := []string{"false"} // of no values
		for _, value := range f.Properties[name] {
			condition := "n.properties @> " + w.Arg(string(property(name, value))) + "::jsonb"
			if kind := value.Kind(); kind == '{' || kind == '[' {
				condition = "(" + condition + " AND n.properties -> " + w.Arg(name) + "::text = " + w.Arg(string(value)) +
					"::jsonb)"
			}
			either = append(either, condition)
		}
		w.Conditions = append(w.Conditions, "("+strings.Join(either, " OR ")+")")
	}
}
