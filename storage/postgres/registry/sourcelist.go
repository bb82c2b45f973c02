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

// SourceFilter says which sources; all that is set must hold.
type SourceFilter struct {
	Name   string              // a part of the name, whatever the case
	NodeID *uuid.UUID          // linked to this node
	Tags   map[string][]string // has the tag with one of the values
}

// SourceOrder is one field that sources are sorted by: see SourceSortFields.
type SourceOrder struct {
	Field      string
	Descending bool
}

// SourcePage says which part of the sorted sources: Limit after Offset, or after
// the source that After describes. Ties end on the id, so pages never overlap.
type SourcePage struct {
	Order  []SourceOrder // empty: createdAt
	Limit  int
	Offset int
	After  *SourcePosition // instead of Offset
}

// SourcePosition is where a source stands in any order.
type SourcePosition struct {
	ID        uuid.UUID `json:"i"`
	Name      string    `json:"n"`
	CreatedAt time.Time `json:"c"`
	UpdatedAt time.Time `json:"u"`
	Version   int64     `json:"v"`
}

// Position returns where the source stands.
func (s *Source) Position() SourcePosition {
	return SourcePosition{ID: s.ID, Name: s.Name, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Version: s.Version}
}

// SourceSortFields lists what sources can be sorted by. Names sort by code point.
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

// Sources lists a page of the workspace's sources that pass the filter, how many
// pass in all, and whether more follow the page.
func (db *Store) Sources(
	ctx context.Context, workspace uuid.UUID, filter SourceFilter, page SourcePage,
) (list []Source, total int64, more bool, err error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", workspace)
	w.Add("deleted_at IS NULL")
	filter.apply(w)
	counting, countArgs := "SELECT count(*) FROM sources WHERE "+w.Text(), slices.Clone(w.Args)
	if page.After != nil {
		page.after(w)
	}
	listing := fmt.Sprintf(`SELECT %s FROM sources WHERE %s ORDER BY %s LIMIT %s OFFSET %s`,
		sourceColumns, w.Text(), page.orderBy(), w.Arg(page.Limit+1), w.Arg(page.Offset))

	batch := &pgx.Batch{}
	batch.Queue(counting, countArgs...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	batch.Queue(listing, w.Args...).Query(func(rows pgx.Rows) (err error) {
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
func (p *SourcePage) fields() []SourceOrder {
	order := p.Order
	if len(order) == 0 {
		order = []SourceOrder{{Field: "createdAt"}}
	}
	return append(slices.Clone(order), SourceOrder{Field: "id"})
}

func (p *SourcePage) orderBy() string {
	var parts []string
	for _, o := range p.fields() {
		column, _ := (&SourcePosition{}).field(o.Field)
		if o.Descending {
			column += " DESC"
		}
		parts = append(parts, column)
	}
	return strings.Join(parts, ", ")
}

// after keeps what comes after the position: greater in the first field, or
// equal there and greater in the next, and so on.
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
