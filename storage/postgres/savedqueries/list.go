package savedqueries

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Filter selects queries. All conditions that are set must match.
type Filter struct {
	Name string // substring of the name, case-insensitive
	Kind string
}

// Page selects a page of the sorted queries. The id breaks ties, so that pages never overlap.
type Page struct {
	Order  []postgres.Order // by SortFields; empty: createdAt
	Limit  int
	Offset int
}

// SortFields returns the fields that queries can be sorted by. Names sort by code point.
func SortFields() []string { return []string{"createdAt", "updatedAt", "name", "version"} }

// columnsOf has the columns of the fields of an order.
var columnsOf = map[string]string{
	"createdAt": "created_at", "updatedAt": "updated_at", "name": `name COLLATE "C"`, "version": "version", "id": "id",
}

// orderBy returns the sort order with its tie-breaker.
func (p *Page) orderBy() string {
	order := slices.Clone(p.Order)
	if len(order) == 0 {
		order = []postgres.Order{{Field: "createdAt"}}
	}
	return postgres.OrderBy(append(order, postgres.Order{Field: "id"}), func(field string) string {
		return columnsOf[field]
	})
}

// SavedQueries returns a page of the workspace's queries that match the filter, and the total number of matches.
func (db *Store) SavedQueries(
	ctx context.Context, workspace uuid.UUID, filter Filter, page Page,
) (list []SavedQuery, total int64, err error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", workspace)
	w.Add("deleted_at IS NULL")
	if filter.Name != "" {
		w.Add("strpos(lower(name), lower(?)) > 0", filter.Name)
	}
	if filter.Kind != "" {
		w.Add("kind = ?", filter.Kind)
	}
	countQuery, countArgs := "SELECT count(*) FROM saved_queries WHERE "+w.Text(), slices.Clone(w.Args)
	listQuery := fmt.Sprintf(`SELECT %s FROM saved_queries WHERE %s ORDER BY %s LIMIT %s OFFSET %s`,
		columns, w.Text(), page.orderBy(), w.Arg(page.Limit), w.Arg(page.Offset))
	batch := &pgx.Batch{}
	batch.Queue(countQuery, countArgs...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	batch.Queue(listQuery, w.Args...).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, 0, postgres.Classify(fmt.Errorf("listing saved queries: %w", err))
	}
	return list, total, nil
}
