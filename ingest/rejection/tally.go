package rejection

import (
	"cmp"
	"slices"
)

// Group is why points were rejected: the first of them, and how many there
// are for the same reason.
type Group struct {
	Index    int    `json:"index"`              // the row, or the series
	Position *int   `json:"position,omitempty"` // the value in the series, where it is one value's fault
	Line     *int   `json:"line,omitempty"`     // in formats that have lines, from 1
	Field    string `json:"field"`              // as in points[3].timestamp
	Reason   string `json:"reason"`
	Count    int    `json:"count"`
}

// Whole is the position when all points of a series are meant.
const Whole = -1

// Tally counts rejected points by reason.
type Tally struct {
	Rejected int
	groups   [Reasons]struct {
		count, index, position int
		field                  string
	}
}

// Add counts n more points. It reports whether these are the first of their
// reason in the request, whose field the caller then sets.
func (t *Tally) Add(why Reason, index, position, n int) (field *string) {
	if n == 0 {
		return nil
	}
	t.Rejected += n
	g := &t.groups[why]
	first := g.count == 0 || index < g.index
	g.count += n
	if !first {
		return nil
	}
	g.index, g.position = index, position
	return &g.field
}

// Count returns how many points were rejected for a reason.
func (t *Tally) Count(why Reason) int { return t.groups[why].count }

// List returns the groups in the order of their first point. It is never nil.
func (t *Tally) List() []Group {
	list := []Group{}
	for why := range t.groups {
		g := &t.groups[why]
		if g.count == 0 {
			continue
		}
		r := Group{Index: g.index, Field: g.field, Reason: Reason(why).Text(), Count: g.count}
		if position := g.position; position != Whole {
			r.Position = &position
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(deref(a.Position), deref(b.Position)))
	})
	return list
}

func deref(p *int) int {
	if p == nil {
		return Whole
	}
	return *p
}
