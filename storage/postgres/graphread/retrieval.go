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
	"github.com/livegraph/livegraph/storage/postgres/documentfilter"
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

// The results of a search are read again here in their current state, because an index of texts or
// of vectors may lag behind the tables.

// ReadNodes reads those of the nodes that are live and pass the filter.
func (db *Store) ReadNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) (map[uuid.UUID]graph.Node, error) {
	found := make(map[uuid.UUID]graph.Node, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	list, err := queryAll(
		ctx, db.pool, `SELECT `+graphrow.NodeColumns+` FROM nodes n WHERE `, nodeWhere(workspace, ids, f), graphrow.ScanNode,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the nodes that were found: %w", err))
	}
	for _, n := range list {
		found[n.ID] = n
	}
	return found, nil
}

// FilterNodes returns the ids of the nodes that ReadNodes returns.
func (db *Store) FilterNodes(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := Passing(ctx, db.pool, workspace, ids, f)
	return list, postgres.Classify(err)
}

// Passing is FilterNodes on a connection.
func Passing(
	ctx context.Context, q postgres.Querier, workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter,
) ([]uuid.UUID, error) {
	list, err := queryAll(ctx, q, `SELECT n.id FROM nodes n WHERE `, nodeWhere(workspace, ids, f), scanID)
	if err != nil {
		return nil, fmt.Errorf("looking at the nodes that were found: %w", err)
	}
	return list, nil
}

// ReadEdges reads those of the edges that are live.
func (db *Store) ReadEdges(
	ctx context.Context, workspace uuid.UUID, ids []uuid.UUID,
) (map[uuid.UUID]graph.Edge, error) {
	found := make(map[uuid.UUID]graph.Edge, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	w := &postgres.Where{}
	w.Add("workspace_id = ?", workspace)
	w.Add("id = ANY(?)", postgres.IDArray(ids))
	w.Add("NOT deleted")
	list, err := queryAll(ctx, db.pool, `SELECT `+graphrow.EdgeColumns+` FROM edges WHERE `, w, graphrow.ScanEdge)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the edges of paths: %w", err))
	}
	for _, e := range list {
		found[e.ID] = e
	}
	return found, nil
}

// MatchingNodes returns up to limit live nodes that pass the filter, in no particular order, and
// whether there are more.
func (db *Store) MatchingNodes(
	ctx context.Context, workspace uuid.UUID, f retrieval.Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	query, args := matching(workspace, f, limit)
	err = db.root.QueryOnce(ctx, query, args, func(rows pgx.Rows) error {
		ids, more, err = collectMatching(rows, nil, limit)
		return err
	})
	return ids, more, postgres.Classify(err)
}

// Matching is MatchingNodes on a connection.
func Matching(
	ctx context.Context, q postgres.Querier, workspace uuid.UUID, f retrieval.Filter, limit int,
) (ids []uuid.UUID, more bool, err error) {
	query, args := matching(workspace, f, limit)
	rows, err := q.Query(ctx, query, postgres.WithCustomPlan(args)...)
	return collectMatching(rows, err, limit)
}

// matching returns a query of one more than limit live nodes that pass the filter.
func matching(workspace uuid.UUID, f retrieval.Filter, limit int) (query string, args []any) {
	// Few nodes have a value of a property, and few belong to documents with these ids: these are read first.
	if !f.Document.IsEmpty() && (len(f.Properties) == 0 || len(f.Document.IDs) > 0) {
		documents := f.Document
		f.Document = retrieval.DocumentFilter{}
		return documentfilter.Matching(workspace, &documents, limit+1, func(n *postgres.Where) { addFilter(n, f) })
	}
	w := nodeWhere(workspace, nil, f)
	return fmt.Sprintf(`SELECT n.id FROM nodes n WHERE %s LIMIT %d`, w.Text(), limit+1), w.Args
}

func collectMatching(rows pgx.Rows, err error, limit int) (ids []uuid.UUID, more bool, _ error) {
	if err == nil {
		ids, err = pgx.CollectRows(rows, scanID)
	}
	if err != nil {
		return nil, false, fmt.Errorf("looking for what passes a filter: %w", err)
	}
	more = len(ids) > limit
	return ids[:min(len(ids), limit)], more, nil
}

// queryAll reads all rows that meet a condition, with a plan for the values of the condition.
func queryAll[T any](
	ctx context.Context, q postgres.Querier, query string, w *postgres.Where, scan pgx.RowToFunc[T],
) ([]T, error) {
	rows, err := q.Query(ctx, query+w.Text(), postgres.WithCustomPlan(w.Args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// scanID reads an id without converting it to text.
func scanID(row pgx.CollectableRow) (uuid.UUID, error) {
	var id pgtype.UUID
	err := row.Scan(&id)
	return id.Bytes, err
}

// nodeWhere returns the condition of live nodes n that pass a filter. If ids is not nil, they must
// be among ids.
func nodeWhere(workspace uuid.UUID, ids []uuid.UUID, f retrieval.Filter) *postgres.Where {
	w := &postgres.Where{}
	w.Add("n.workspace_id = ?", workspace)
	if ids != nil {
		w.Add("n.id = ANY(?)", postgres.IDArray(ids))
	}
	AddPassing(w, f)
	return w
}

// AddPassing adds the conditions that a node n is live and passes a filter.
func AddPassing(w *postgres.Where, f retrieval.Filter) {
	w.Add("NOT n.deleted")
	addFilter(w, f)
}

// addFilter adds the conditions of a filter on nodes n. A property must be equal to one of the
// values. @> uses the index, but an object or array also contains other values than itself, so
// these are compared as well.
func addFilter(w *postgres.Where, f retrieval.Filter) {
	if len(f.EntityTypes) > 0 {
		w.Add("n.entity_type = ANY(?)", f.EntityTypes)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		alternatives := []string{"false"} // for an empty list of values
		for _, value := range f.Properties[name] {
			condition := "n.properties @> " + w.Arg(string(propertyObject(name, value))) + "::jsonb"
			if kind := value.Kind(); kind == '{' || kind == '[' {
				condition = "(" + condition + " AND n.properties -> " + w.Arg(name) + "::text = " + w.Arg(string(value)) +
					"::jsonb)"
			}
			alternatives = append(alternatives, condition)
		}
		w.Conditions = append(w.Conditions, "("+strings.Join(alternatives, " OR ")+")")
	}
	boundConditions{w, "n.properties"}.add(&f.Bounds)
	if !f.Document.IsEmpty() {
		documentfilter.Add(w, &f.Document)
	}
}
