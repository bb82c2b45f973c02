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

// maxHiddenSteps is the maximum number of time ranges of deleted points in one query.
const maxHiddenSteps = 20_000

// Hidden lists the points of series that are deleted although they may still be stored. It
// is part of a query, so that a point disappears when its deletion is accepted, and not when
// it is removed from the store. Series that are not in the map have no such points.
type Hidden map[uint64][]HiddenPoints

// HiddenPoints are the points of a series in an interval up to and including a version.
// Points of higher versions are not deleted.
type HiddenPoints struct {
	ceiling.Interval
	// Executed reports whether they were deleted in the store. An insert that was in flight
	// at that time may have stored them again.
	Executed bool
}

// Add adds the points of a series that a deletion covers.
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

// unexecuted reports whether a series has a deletion that has not been executed in the store.
func (h Hidden) unexecuted(series uint64) bool {
	return slices.ContainsFunc(h[series], func(p HiddenPoints) bool { return !p.Executed })
}

// within returns the hidden intervals of a series, restricted to a time range.
func (h Hidden) within(series uint64, fromUS, toUS int64) (inside []ceiling.Interval) {
	for _, p := range h[series] {
		p.From, p.To = max(p.From, fromUS), min(p.To, toUS)
		if p.From < p.To {
			inside = append(inside, p.Interval)
		}
	}
	return inside
}

// visible returns the condition that a row of one of these series, in a time range, is not
// hidden. It is empty if no row is. The condition uses column version. It may be applied
// before or after the newest of the rows of a point is selected, because a version hides all
// lower ones.
func (h Hidden) visible(series []uint64, fromUS, toUS int64) (string, error) {
	type group struct { // series with the same hidden points
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
		if total > maxHiddenSteps {
			return "", fault.New(
				fault.Unavailable, "Too many deletions of points of these series are under way",
			).After(time.Second)
		}
	}
	if len(groups) == 0 {
		return "", nil
	}
	conditions := make([]string, 0, len(groups))
	for _, g := range groups {
		conditions = append(conditions, "series IN ("+clickhouse.IDArray(g.series)+") AND "+hiddenByCondition(g.steps))
	}
	return "NOT (" + strings.Join(conditions, " OR ") + ")", nil
}

// hiddenByCondition returns the condition that ceilings hide a row.
func hiddenByCondition(steps ceiling.Steps) string {
	if len(steps) == 1 || len(steps) == 2 && steps[1].Ceiling == 0 {
		condition := fmt.Sprintf("version <= %d", steps[0].Ceiling)
		if steps[0].From != ceiling.Always {
			condition += " AND ts >= " + clickhouse.TimeExpression(steps[0].From)
		}
		if len(steps) == 2 {
			condition += " AND ts < " + clickhouse.TimeExpression(steps[1].From)
		}
		return condition
	}
	const beginning = math.MinInt64 / 4 // below any stored time
	from, ceilings := []int64{beginning}, []uint64{0}
	for _, s := range steps {
		from, ceilings = append(from, max(s.From, beginning+1)), append(ceilings, s.Ceiling)
	}
	return fmt.Sprintf(
		"version <= transform(roundDown(toUnixTimestamp64Micro(ts), %[1]s), %[1]s, %[2]s, 0::UInt64)",
		clickhouse.NumberArray("Int64", from), clickhouse.NumberArray("UInt64", ceilings),
	)
}

// marks returns the hours of series, in a time range, of which rollups may contain hidden
// points: at most limit, or limit+1 if there are more.
func (h Hidden) marks(series []uint64, fromUS, toUS int64, limit int) (marks []hourRange) {
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
				hourRange{series: id, from: uint32(clickhouse.HourOf(i.From)), to: uint32(clickhouse.HourOf(i.To-1) + 1)},
			)
		}
	}
	return marks
}

// applyHidden sets the condition that excludes the hidden points of series, from a time on
// that may be before the begin of the range.
func (r *Range) applyHidden(fromUS int64, series ...[]uint64) error {
	var all []uint64
	if len(r.Hidden) > 0 {
		all = slices.Concat(series...)
	}
	var err error
	r.visible, err = r.Hidden.visible(all, fromUS, r.ToUS)
	return err
}

// hiddenCondition returns the condition that excludes hidden points, preceded by a keyword.
// It is empty if no points are hidden.
func (r *Range) hiddenCondition(keyword string) string {
	if r.visible == "" {
		return ""
	}
	return " " + keyword + " " + r.visible
}
