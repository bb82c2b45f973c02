package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// SourceFilter selects sources. All conditions that are set must match.
type SourceFilter struct {
	Name   string              // substring of the name, case-insensitive
	NodeID *uuid.UUID          // linked to this node
	Tags   map[string][]string // has the tag with one of the values
}

// SourcePage selects a page of the sorted sources: up to Limit sources from Offset, or
// after the position After. The id breaks ties, so that pages never overlap.
type SourcePage struct {
	Order  []postgres.Order // by SourceSortFields; empty: createdAt
	Limit  int
	Offset int
	After  *SourcePosition // instead of Offset
}

// SourcePosition is the position of a source in any sort order.
type SourcePosition struct {
	ID        uuid.UUID `json:"i"`
	Name      string    `json:"n"`
	CreatedAt time.Time `json:"c"`
	UpdatedAt time.Time `json:"u"`
	Version   int64     `json:"v"`
}

// Position returns the position of the source.
func (s *Source) Position() SourcePosition {
	return SourcePosition{ID: s.ID, Name: s.Name, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Version: s.Version}
}

// SourceSortFields returns the fields that sources can be sorted by. Names sort by code point.
func SourceSortFields() []string { return []string{"createdAt", "updatedAt", "name", "version"} }

func (p *SourcePosition) field(name string) (column string, value any) {
	switch name {
	case "updatedAt":
		return "updated_at", p.UpdatedAt
	case "name":
		return `name COLLATE "C"`, p.Name
	case "version":
		return "version", p.Version
	case "id":
		return "id", p.ID
	}
	return "created_at", p.CreatedAt
}

// Sources returns a page of the workspace's sources that match the filter, the total
// number of matches, and whether there are more after the page.
func (db *Store) Sources(
	ctx context.Context, workspace uuid.UUID, filter SourceFilter, page SourcePage,
) (list []Source, total int64, more bool, err error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", workspace)
	w.Add("deleted_at IS NULL")
	filter.apply(w)
	countQuery, countArgs := "SELECT count(*) FROM sources WHERE "+w.Text(), slices.Clone(w.Args)
	if page.After != nil {
		page.after(w)
	}
	listQuery := fmt.Sprintf(`SELECT %s FROM sources WHERE %s ORDER BY %s LIMIT %s OFFSET %s`,
		sourceColumns, w.Text(), page.orderBy(), w.Arg(page.Limit+1), w.Arg(page.Offset))

	batch := &pgx.Batch{}
	batch.Queue(countQuery, countArgs...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	batch.Queue(listQuery, w.Args...).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, scanSource)
		return err
	})
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, 0, false, postgres.Classify(fmt.Errorf("listing sources: %w", err))
	}
	if len(list) > page.Limit {
		return list[:page.Limit], total, true, nil
	}
	return list, total, false, nil
}

func (f *SourceFilter) apply(w *postgres.Where) {
	if f.Name != "" {
		w.Add("strpos(lower(name), lower(?)) > 0", f.Name)
	}
	if f.NodeID != nil {
		w.Add("node_id = ?", *f.NodeID)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Tags)) {
		w.Add("tags ->> ?::text = ANY(?::text[])", key, f.Tags[key])
	}
}

// fields returns the order with its tie-breaker.
func (p *SourcePage) fields() []postgres.Order {
	order := p.Order
	if len(order) == 0 {
		order = []postgres.Order{{Field: "createdAt"}}
	}
	return append(slices.Clone(order), postgres.Order{Field: "id"})
}

func (p *SourcePage) orderBy() string {
	return postgres.OrderBy(p.fields(), func(field string) string {
		column, _ := (&SourcePosition{}).field(field)
		return column
	})
}

// after adds the condition for the sources after the position: greater in the first field,
// or equal in it and greater in the next, and so on.
func (p *SourcePage) after(w *postgres.Where) {
	var alternatives, equal []string
	for _, o := range p.fields() {
		column, value := p.After.field(o.Field)
		sign := ">"
		if o.Descending {
			sign = "<"
		}
		arg := w.Arg(value)
		alternatives = append(
			alternatives, "("+strings.Join(append(slices.Clone(equal), column+" "+sign+" "+arg), " AND ")+")",
		)
		equal = append(equal, column+" = "+arg)
	}
	w.Add("(" + strings.Join(alternatives, " OR ") + ")")
}
