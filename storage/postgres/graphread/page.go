package graphread

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Order is one field that nodes or edges are sorted by: see NodeSortFields
// and EdgeSortFields.
type Order struct {
	Field      string
	Descending bool
}

// Page says which part of the sorted nodes or edges: Limit after Offset, or
// after the one that After describes. Ties end on the id, in the direction of the
// last field, so pages never overlap.
type Page struct {
	Order  []Order // empty: createdAt
	Limit  int
	Offset int
	After  *Position // instead of Offset
}

// Position is where a node or an edge stands in an order. It has what the
// order is made of, and the id.
type Position struct {
	ID        uuid.UUID `json:"i"`
	Name      string    `json:"n,omitzero"`
	Type      string    `json:"t,omitzero"` // entity or relation type
	CreatedAt time.Time `json:"c,omitzero"`
	UpdatedAt time.Time `json:"u,omitzero"`
	Version   int64     `json:"v,omitzero"`
	// Bound is the workspace's sequence when the first page was read, where a change can
	// move items in the order; 0: there is none, or the position is of an older version.
	Bound int64 `json:"b,omitzero"`
}

// NodeSortFields lists what nodes can be sorted by. Texts sort by code point.
func NodeSortFields() []string {
	return []string{"createdAt", "updatedAt", "name", "entityType", "version"}
}

// EdgeSortFields lists what edges can be sorted by.
func EdgeSortFields() []string { return []string{"createdAt", "updatedAt", "relationType", "version"} }

// sortField is a field in the terms of the tables.
type sortField struct {
	column string
	still  string // the same, in a form that no index has
	of     func(*Position) any
	keep   func(from, to *Position)
	// coarse says that many rows share a value, so that the order within one
	// value matters.
	coarse bool
}

var typeField = sortField{
	of:     func(p *Position) any { return p.Type },
	keep:   func(from, to *Position) { to.Type = from.Type },
	coarse: true,
}

var sortFields = map[string]sortField{
	"createdAt": {
		column: "created_at", still: "created_at + interval '0'",
		of:   func(p *Position) any { return p.CreatedAt },
		keep: func(from, to *Position) { to.CreatedAt = from.CreatedAt },
	},
	"updatedAt": {
		column: "updated_at", still: "updated_at + interval '0'",
		of:   func(p *Position) any { return p.UpdatedAt },
		keep: func(from, to *Position) { to.UpdatedAt = from.UpdatedAt },
	},
	"name": {
		column: `name COLLATE "C"`, still: `(name || '') COLLATE "C"`,
		of:   func(p *Position) any { return p.Name },
		keep: func(from, to *Position) { to.Name = from.Name },
	},
	"entityType":   typeField.on("entity_type"),
	"relationType": typeField.on("relation_type"),
	"version": {
		column: "version", still: "version + 0", coarse: true,
		of:   func(p *Position) any { return p.Version },
		keep: func(from, to *Position) { to.Version = from.Version },
	},
	"id": {
		column: "id", still: "id",
		of:   func(p *Position) any { return p.ID },
		keep: func(from, to *Position) { to.ID = from.ID },
	},
}

func (f sortField) on(column string) sortField {
	f.column, f.still = column, column+" || ''"
	return f
}

// order is a whole order: the last field is the id.
type order []Order

func (p *Page) order() order {
	fields := order(slices.Clone(p.Order))
	if len(fields) == 0 {
		fields = order{{Field: "createdAt"}}
	}
	return append(fields, Order{Field: "id", Descending: fields[len(fields)-1].Descending})
}

// position is the part of a full position that the order needs.
func (o order) position(full *Position) *Position {
	var p Position
	for _, field := range o {
		sortFields[field.Field].keep(full, &p)
	}
	return &p
}

// by writes what follows ORDER BY. If still, the order is one that no index has.
func (o order) by(still bool) string {
	var parts []string
	for _, field := range o {
		column := sortFields[field.Field].column
		if still {
			column = sortFields[field.Field].still
		}
		if field.Descending {
			column += " DESC"
		}
		parts = append(parts, column)
	}
	return strings.Join(parts, ", ")
}

// columns lists what the order is made of.
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

// after keeps what comes after a position. Fields that all go one way are compared
// as a row, which an index can do; others one by one: greater in the first, or
// equal there and greater in the next, and so on.
func (o order) after(w *postgres.Where, p *Position) {
	if p == nil {
		return
	}
	var columns, args []string
	for _, field := range o {
		f := sortFields[field.Field]
		columns, args = append(columns, f.column), append(args, w.Arg(f.of(p)))
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
	// The first alone once more, for the index.
	w.Conditions = append(w.Conditions, columns[0]+" "+sign(o[0])+"= "+args[0], "("+strings.Join(alternatives, " OR ")+")")
}

func sign(f Order) string {
	if f.Descending {
		return "<"
	}
	return ">"
}
