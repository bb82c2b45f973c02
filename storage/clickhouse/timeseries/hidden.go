package timeseries

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/ceiling"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// hiddenMax is how many stretches of time of deleted points one query leaves out.
const hiddenMax = 20_000

// Hidden says which points of series are deleted though they may still be stored. It is
// part of a query, so that a point is gone at the moment at which its deletion is
// accepted and not when somebody has removed it. Series that are not in it have none.
type Hidden map[uint64][]HiddenPoints

// HiddenPoints are the points of a series in an interval, up to and including a version:
// newer ones are not deleted.
type HiddenPoints struct {
	ceiling.Interval
	// Executed says that they were deleted in the store. An insert that was under way
	// then may have brought them back.
	Executed bool
}

// Add hides what a deletion is about of a series.
func (h Hidden) Add(series uint64, d clickhouse.Deletion, executed bool) {
	i := ceiling.Interval{From: ceiling.Always, To: ceiling.Forever, Ceiling: d.Ceiling}
	if d.FromUS != nil {
		i.From = *d.FromUS
	}
	if d.ToUS != nil {
		i.To = *d.ToUS
	}
	h[series] = append(h[series], HiddenPoints{i, executed})
}

// covers reports whether a point of a series is hidden.
func (h Hidden) covers(series uint64, ts int64, version uint64) bool {
	return slices.ContainsFunc(h[series], func(p HiddenPoints) bool {
		return ts >= p.From && ts < p.To && version <= p.Ceiling
	})
}

// unexecuted reports whether points of a series have yet to be deleted in the store.
func (h Hidden) unexecuted(series uint64) bool {
	return slices.ContainsFunc(h[series], func(p HiddenPoints) bool { return !p.Executed })
}

// within returns what is hidden of a series in a range of time.
func (h Hidden) within(series uint64, fromUS, toUS int64) (inside []ceiling.Interval) {
	for _, p := range h[series] {
		p.From, p.To = max(p.From, fromUS), min(p.To, toUS)
		if p.From < p.To {
			inside = append(inside, p.Interval)
		}
	}
	return inside
}

// visible returns the condition that a row of one of these series, in a range of time, is
// not hidden; empty: none is. It is about column version: of the rows of one point it
// may be asked before or after the newest is chosen, as a version hides all lower ones.
func (h Hidden) visible(series []uint64, fromUS, toUS int64) (string, error) {
	type group struct { // of series of which the same is hidden
		steps  ceiling.Steps
		series []uint64
	}
	groups := map[string]*group{}
	total := 0
	for _, id := range series {
		inside := h.within(id, fromUS, toUS)
		if len(inside) == 0 {
			continue
		}
		steps := ceiling.New(inside)
		key := fmt.Sprint(steps)
		if groups[key] == nil {
			groups[key] = &group{steps: steps}
			total += len(steps)
		}
		groups[key].series = append(groups[key].series, id)
		if total > hiddenMax {
			return "", fault.New(
				fault.Unavailable, "Too many deletions of points of these series are under way",
			).After(time.Second)
		}
	}
	if len(groups) == 0 {
		return "", nil
	}
	either := make([]string, 0, len(groups))
	for _, g := range groups {
		either = append(either, "series IN ("+clickhouse.IDArray(g.series)+") AND "+hiddenBy(g.steps))
	}
	return "NOT (" + strings.Join(either, " OR ") + ")", nil
}

// hiddenBy returns the condition that a row is hidden by ceilings.
func hiddenBy(steps ceiling.Steps) string {
	if len(steps) == 1 || len(steps) == 2 && steps[1].Ceiling == 0 {
		condition := fmt.Sprintf("version <= %d", steps[0].Ceiling)
		if steps[0].From != ceiling.Always {
			condition += " AND ts >= " + clickhouse.Moment(steps[0].From)
		}
		if len(steps) == 2 {
			condition += " AND ts < " + clickhouse.Moment(steps[1].From)
		}
		return condition
	}
	const beginning = math.MinInt64 / 4 // below any stored time
	from, ceilings := []int64{beginning}, []uint64{0}
	for _, s := range steps {
		from, ceilings = append(from, max(s.From, beginning+1)), append(ceilings, s.Ceiling)
	}
	at := clickhouse.NumberArray("Int64", from)
	return fmt.Sprintf(
		"version <= transform(roundDown(toUnixTimestamp64Micro(ts), %[1]s), %[1]s, %[2]s, 0::UInt64)", at,
		clickhouse.NumberArray("UInt64", ceilings),
	)
}

// marks returns the hours of series, in a range of time, of which rollups may have hidden
// points: no more than a number, and one if there are more.
func (h Hidden) marks(series []uint64, fromUS, toUS int64, limit int) (marks []stretch) {
	if len(h) == 0 {
		return nil
	}
	for _, id := range series {
		for _, i := range h.within(id, fromUS, toUS) {
			if len(marks) > limit {
				return marks
			}
			marks = append(
				marks,
				stretch{series: id, from: uint32(clickhouse.HourOf(i.From)), to: uint32(clickhouse.HourOf(i.To-1) + 1)},
			)
		}
	}
	return marks
}

// hide has the range leave out what is hidden of series, from a time on that may be
// before its own begin.
func (r *Range) hide(fromUS int64, series ...[]uint64) error {
	var all []uint64
	if len(r.Hidden) > 0 {
		all = slices.Concat(series...)
	}
	var err error
	r.visible, err = r.Hidden.visible(all, fromUS, r.ToUS)
	return err
}

// leavingOut returns the range's condition on what is hidden, behind a word; nothing where
// nothing is.
func (r *Range) leavingOut(word string) string {
	if r.visible == "" {
		return ""
	}
	return " " + word + " " + r.visible
}
