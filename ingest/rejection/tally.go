package rejection

import (
	"cmp"
	"slices"
)

// Group describes the points that were rejected for one reason: the first of them, and
// their number.
type Group struct {
	Index    int    `json:"index"`              // of the row or series
	Position *int   `json:"position,omitempty"` // of the value in the series, if the rejection is about one value
	Line     *int   `json:"line,omitempty"`     // from 1, in formats that have lines
	Field    string `json:"field"`              // path of the field, such as points[3].timestamp
	Reason   string `json:"reason"`
	Count    int    `json:"count"`
}

// NoPosition is the position of a rejection that is not about a single value of a series.
const NoPosition = -1

// Tally counts rejected points by reason.
type Tally struct {
	Rejected int
	groups   [Reasons]struct {
		count, index, position int
		field                  string
	}
}

// Add counts n more points. If they come before all other rejected points of their reason, it
// returns a pointer to the path of their field, which the caller then sets. Otherwise it
// returns nil.
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

// Count returns the number of points that were rejected for a reason.
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
		if position := g.position; position != NoPosition {
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
		return NoPosition
	}
	return *p
}
