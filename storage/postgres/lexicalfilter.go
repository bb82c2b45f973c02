package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval"
)

// fewMatches is how many nodes a filter of a search lets through at most for its
// terms to be looked up node by node.
const fewMatches = 5_000

// letsPass adds that a row of nodes stands and passes a filter of a search.
func letsPass(w *where, f retrieval.Filter) {
	w.conditions = append(w.conditions, "NOT deleted")
	if len(f.EntityTypes) > 0 {
		w.add("entity_type = ANY(?)", f.EntityTypes)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Properties)) {
		any := []string{"false"}
		for _, value := range f.Properties[key] {
			// The first is for the index; of objects and lists it says only that they
			// are a part.
			any = append(any, fmt.Sprintf("(properties @> %s::jsonb AND properties -> %s::text = %s::jsonb)",
				w.arg(string(property(key, value))), w.arg(key), w.arg(string(value))))
		}
		w.conditions = append(w.conditions, "("+strings.Join(any, " OR ")+")")
	}
}

func unfiltered(f retrieval.Filter) bool { return len(f.EntityTypes) == 0 && len(f.Properties) == 0 }

// passing gives those of the nodes that stand and pass the filter.
func passing(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, ids uuids, f retrieval.Filter) (map[uuid.UUID]bool, error) {
	w := &where{}
	w.add("workspace_id = ?", workspace)
	w.add("id = ANY(?)", ids)
	letsPass(w, f)
	found, err := collectIDs(ctx, tx, `SELECT id FROM nodes WHERE `+w.text(), w.args)
	if err != nil {
		return nil, fmt.Errorf("reading which nodes pass: %w", err)
	}
	pass := make(map[uuid.UUID]bool, len(found))
	for _, id := range found {
		pass[id] = true
	}
	return pass, nil
}

// fewPassing gives the nodes that pass a filter, if they are at most so many.
func fewPassing(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, f retrieval.Filter, most int) (ids []uuid.UUID, few bool, err error) {
	w := &where{}
	w.add("workspace_id = ?", workspace)
	letsPass(w, f)
	ids, err = collectIDs(ctx, tx, `SELECT id FROM nodes WHERE `+w.text()+` LIMIT `+w.arg(most+1), w.args)
	if err != nil {
		return nil, false, fmt.Errorf("reading which nodes match: %w", err)
	}
	return ids, len(ids) <= most, nil
}

// collectIDs reads ids. The plan is made for the values: how many rows pass decides
// which index is good.
func collectIDs(ctx context.Context, tx pgx.Tx, query string, args []any) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, query, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}
