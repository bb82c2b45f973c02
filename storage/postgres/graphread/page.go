package graphread

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Order is one field that nodes or edges are sorted by. See NodeSortFields and EdgeSortFields.
type Order = postgres.Order

// Page selects a part of the sorted nodes or edges: at most Limit after the first Offset ones, or
// after the position After. Equal items are sorted by id, in the direction of the last field, so
// pages never overlap.
type Page struct {
	Order  []Order // empty: createdAt
	Limit  int
	Offset int
	After  *Position // instead of Offset
	// MaxBytes ends a page early: no more items are read when those that were read are this large. 0: no maximum. The
	// page may exceed it by FetchItems items.
	MaxBytes int
}

// Position is the position of a node or an edge in an order. It has the fields of the order, and
// the id.
type Position struct {
	ID        uuid.UUID `json:"i"`
	Name      string    `json:"n,omitzero"`
	Type      string    `json:"t,omitzero"` // entity or relation type
	CreatedAt time.Time `json:"c,omitzero"`
	UpdatedAt time.Time `json:"u,omitzero"`
	Version   int64     `json:"v,omitzero"`
	// Bound is the workspace's sequence when the first page was read, if a change can move items
	// in the order. It is 0 if no change can, or if an older version created the position.
	Bound int64 `json:"b,omitzero"`
}

// NodeSortFields returns the fields that nodes can be sorted by. Texts are sorted by code point.
func NodeSortFields() []string {
	return []string{"createdAt", "updatedAt", "name", "entityType", "version"}
}

// EdgeSortFields returns the fields that edges can be sorted by.
func EdgeSortFields() []string { return []string{"createdAt", "updatedAt", "relationType", "version"} }

// sortField maps a sort field to a column.
type sortField struct {
	column    string
	unindexed string // the same value, as an expression that no index has
	value     func(*Position) any
	copyTo    func(from, to *Position)
	// coarse reports that many rows share a value, so that the order of rows with the same
	// value matters.
	coarse bool
}

var typeField = sortField{
	value:  func(p *Position) any { return p.Type },
	copyTo: func(from, to *Position) { to.Type = from.Type },
	coarse: true,
}

var sortFields = map[string]sortField{
	"createdAt": {
		column: "created_at", unindexed: "created_at + interval '0'",
		value:  func(p *Position) any { return p.CreatedAt },
		copyTo: func(from, to *Position) { to.CreatedAt = from.CreatedAt },
	},
	"updatedAt": {
		column: "updated_at", unindexed: "updated_at + interval '0'",
		value:  func(p *Position) any { return p.UpdatedAt },
		copyTo: func(from, to *Position) { to.UpdatedAt = from.UpdatedAt },
	},
	"name": {
		column: `name COLLATE "C"`, unindexed: `(name || '') COLLATE "C"`,
		value:  func(p *Position) any { return p.Name },
		copyTo: func(from, to *Position) { to.Name = from.Name },
	},
	"entityType":   typeField.withColumn("entity_type"),
	"relationType": typeField.withColumn("relation_type"),
	"version": {
		column: "version", unindexed: "version + 0", coarse: true,
		value:  func(p *Position) any { return p.Version },
		copyTo: func(from, to *Position) { to.Version = from.Version },
	},
	"id": {
		column: "id", unindexed: "id",
		value:  func(p *Position) any { return p.ID },
		copyTo: func(from, to *Position) { to.ID = from.ID },
	},
}

func (f sortField) withColumn(column string) sortField {
	f.column, f.unindexed = column, column+" || ''"
	return f
}

// order is a complete order, whose last field is the id.
type order []Order

func (p *Page) order() order {
	fields := order(slices.Clone(p.Order))
	if len(fields) == 0 {
		fields = order{{Field: "createdAt"}}
	}
	return append(fields, Order{Field: "id", Descending: fields[len(fields)-1].Descending})
}

// position returns the fields of a full position that the order needs.
func (o order) position(full *Position) *Position {
	var p Position
	for _, field := range o {
		sortFields[field.Field].copyTo(full, &p)
	}
	return &p
}

// orderBy returns the expressions of ORDER BY. If unindexed is true, no index has this order.
func (o order) orderBy(unindexed bool) string {
	return postgres.OrderBy(o, func(field string) string {
		if unindexed {
			return sortFields[field].unindexed
		}
		return sortFields[field].column
	})
}

// columns returns the list of the columns of the order.
func (o order) columns() string {
	var parts []string
	for _, field := range o {
		column, _, _ := strings.Cut(sortFields[field.Field].column, " ")
		parts = append(parts, column)
	}
	return strings.Join(parts, ", ")
}

// isMutable reports whether a change can move an item in the order.
func (o order) isMutable() bool {
	return slices.ContainsFunc(o, func(f Order) bool { return f.Field != "createdAt" && f.Field != "id" })
}

func (o order) reversed() order {
	r := slices.Clone(o)
	for i := range r {
		r[i].Descending = !r[i].Descending
	}
	return r
}

// addAfter adds the condition that rows come after a position. If all fields have the same
// direction, they are compared as a row, which an index supports. Otherwise they are compared one
// by one: greater in the first, or equal in the first and greater in the next, and so on.
func (o order) addAfter(w *postgres.Where, p *Position) {
	if p == nil {
		return
	}
	var columns, args []string
	for _, field := range o {
		f := sortFields[field.Field]
		columns, args = append(columns, f.column), append(args, w.Arg(f.value(p)))
	}
	if !slices.ContainsFunc(o, func(f Order) bool { return f.Descending != o[0].Descending }) {
		w.Conditions = append(w.Conditions, "("+strings.Join(columns, ", ")+") "+sign(o[0])+" ("+strings.Join(args, ", ")+")")
		return
	}
	var alternatives, equal []string
	for i, field := range o {
		greater := columns[i] + " " + sign(field) + " " + args[i]
		alternatives = append(alternatives, "("+strings.Join(append(slices.Clone(equal), greater), " AND ")+")")
		equal = append(equal, columns[i]+" = "+args[i])
	}
	// The condition on the first field is repeated on its own, so that its index can be used.
	w.Conditions = append(w.Conditions, columns[0]+" "+sign(o[0])+"= "+args[0], "("+strings.Join(alternatives, " OR ")+")")
}

func sign(f Order) string {
	if f.Descending {
		return "<"
	}
	return ">"
}
