package ingest

import (
	"cmp"
	"slices"
)

// Rejection says why points were rejected: the first of them, and how many there
// are for the same reason.
type Rejection struct {
	Index    int    `json:"index"`              // the row, or the series
	Position *int   `json:"position,omitempty"` // the value in the series, where it is one value's fault
	Line     *int   `json:"line,omitempty"`     // in formats that have lines, from 1
	Field    string `json:"field"`              // as in points[3].timestamp
	Reason   string `json:"reason"`
	Count    int    `json:"count"`
}

// whole stands for the position when all points of a series are meant.
const whole = -1

// tally counts rejected points by reason.
type tally struct {
	rejected int
	groups   [reasons]struct {
		count, index, position int
		field                  string
	}
}

// add counts n more points. It reports whether these are the first of their
// reason in the request, whose field the caller then sets.
func (t *tally) add(why reason, index, position, n int) (field *string) {
	if n == 0 {
		return nil
	}
	t.rejected += n
	g := &t.groups[why]
	first := g.count == 0 || index < g.index
	g.count += n
	if !first {
		return nil
	}
	g.index, g.position = index, position
	return &g.field
}

// count returns how many points were rejected for a reason.
func (t *tally) count(why reason) int { return t.groups[why].count }

// list returns the groups in the order of their first point. It is never nil.
func (t *tally) list() []Rejection {
	list := []Rejection{}
	for why := range t.groups {
		g := &t.groups[why]
		if g.count == 0 {
			continue
		}
		r := Rejection{Index: g.index, Field: g.field, Reason: reason(why).text(), Count: g.count}
		if position := g.position; position != whole {
			r.Position = &position
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(deref(a.Position), deref(b.Position)))
	})
	return list
}

func deref(p *int) int {
	if p == nil {
		return whole
	}
	return *p
}
