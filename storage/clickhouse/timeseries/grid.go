package timeseries

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Grid defines where the buckets of a query begin: at the multiples of a step on the wall
// clock of a time zone, counted from 1970-01-01T00:00 there. Buckets have no gaps and do not
// overlap, even when the clocks change:
//
//   - where clocks go forward, a boundary inside the skipped hour is moved to the instant
//     of the change, so a day may last 23 hours;
//   - where clocks go back and the step is longer than the change, the boundaries of the
//     repeated hour count once, so a day may last 25 hours; with a step up to the length of
//     the change, both hours have their own buckets.
//
// All times are microseconds since the Unix epoch.
type Grid struct {
	step     int64
	segments []segment
}

// segment is a time range with one offset from UTC.
type segment struct {
	from   int64 // start; the first segment has no lower bound
	offset int64 // local time minus UTC
	first  int64 // first boundary that is a multiple of the step; noBoundary: none
	before int64 // last boundary before first: the bucket of the time from from to first
}

const noBoundary = math.MaxInt64

// segmentMargin is the distance, in addition to a step, at which the segments begin before
// the range. Together they are longer than any bucket that overlaps the range, including
// clock changes.
const segmentMargin = 3 * 24 * time.Hour

// NewGrid creates the grid of a step for the range from fromUS up to toUS.
func NewGrid(step time.Duration, zone *time.Location, fromUS, toUS int64) *Grid {
	g := &Grid{step: step.Microseconds()}
	segments := offsetSegments(zone, time.UnixMicro(fromUS).Add(-step-segmentMargin), toUS)
	for i, s := range segments {
		if i == 0 {
			s.first, s.before = math.MinInt64, math.MinInt64
		} else {
			until := int64(noBoundary)
			if i+1 < len(segments) {
				until = segments[i+1].from
			}
			g.setBoundaries(&s, until)
		}
		g.segments = append(g.segments, s)
	}
	return g
}

// offsetSegments returns the segments with constant offset, without their boundaries, from
// the segment that contains from to the one that contains toUS.
func offsetSegments(zone *time.Location, from time.Time, toUS int64) []segment {
	const day = 24 * time.Hour
	at := from
	_, offset := at.In(zone).Zone()
	list := []segment{{from: math.MinInt64, offset: int64(offset) * 1e6}}
	for at.UnixMicro() < toUS {
		_, end := at.In(zone).ZoneBounds()
		if end.IsZero() {
			break
		}
		// Where a zone follows a rule, from 2038 on, package time also ends the bounds
		// with each year, and with leap years a day early: on their last day the end is not
		// after at.
		if !end.After(at) {
			end = at.Add(day)
		}
		at = end
		_, offset := at.In(zone).Zone()
		if us := int64(offset) * 1e6; us != list[len(list)-1].offset && at.UnixMicro() < toUS {
			list = append(list, segment{from: at.UnixMicro(), offset: us})
		}
	}
	return list
}

// setBoundaries sets the first boundary of a segment and the one before it.
func (g *Grid) setBoundaries(s *segment, until int64) {
	last := &g.segments[len(g.segments)-1]
	s.before = g.startIn(last, s.from-1)
	change := s.offset - last.offset
	s.first = s.from + mod(-(s.from+s.offset), g.step) // rounded up to a multiple
	switch {
	case change > 0:
		// The wall clock skips [gap, gap+change): a boundary in it is moved to s.from.
		gap := s.from + last.offset
		if s.first != s.from && mod(-gap, g.step) < change {
			s.before = s.from
		}
	case change < 0 && g.step > -change:
		// The wall clock shows [from+offset, from+offset-change) again.
		if repeated := s.from - change; s.first < repeated {
			s.first = repeated + mod(-(repeated+s.offset), g.step)
		}
	}
	if s.first >= until {
		s.first = noBoundary
	}
}

// Start returns the start of the bucket that contains an instant.
func (g *Grid) Start(us int64) int64 { return g.startIn(&g.segments[g.segmentOf(us)], us) }

func (g *Grid) startIn(s *segment, us int64) int64 {
	if us < s.first {
		return s.before
	}
	return us - mod(us+s.offset, g.step)
}

// Next returns the start of the bucket after the one that starts at start.
func (g *Grid) Next(start int64) int64 {
	i := g.segmentOf(start)
	s := &g.segments[i]
	next := start - mod(start+s.offset, g.step) + g.step
	if next < s.first && s.first != noBoundary {
		next = s.first
	}
	for i++; i < len(g.segments); i++ {
		n := &g.segments[i]
		if next < n.from && s.first != noBoundary {
			return next
		}
		if n.before == n.from {
			return n.from
		}
		next, s = n.first, n
	}
	return next
}

// Step returns the length of a bucket without clock changes.
func (g *Grid) Step() time.Duration { return time.Duration(g.step) * time.Microsecond }

// Count returns the number of buckets in the range, or limit+1 if there are more than limit.
func (g *Grid) Count(fromUS, toUS int64, limit int) int {
	if fromUS >= toUS {
		return 0
	}
	if (toUS-fromUS)/g.step > int64(limit)+2 {
		return limit + 1
	}
	n := 0
	for at := g.Start(fromUS); at < toUS && n <= limit; at = g.Next(at) {
		n++
	}
	return n
}

func (g *Grid) segmentOf(us int64) int {
	i := len(g.segments) - 1
	for i > 0 && us < g.segments[i].from {
		i--
	}
	return i
}

// sql returns the expression for the start of the bucket of column, both Int64 in
// microseconds. It contains only numbers that this package computed, and refers to the
// columns of with.
func (g *Grid) sql(column string) string {
	if len(g.segments) == 1 {
		return fmt.Sprintf("%[1]s - (%[1]s + %[2]d) %% %[3]d", column, g.positiveShift()+g.segments[0].offset, g.step)
	}
	return fmt.Sprintf("if(%[1]s < first, before, %[1]s - (%[1]s + shift) %% %[2]d)", column, g.step)
}

// with returns the columns that sql refers to, each followed by a comma: the fields of the
// segment that contains column.
func (g *Grid) with(column string) string {
	if len(g.segments) == 1 {
		return ""
	}
	const beginning = math.MinInt64 / 4 // below any stored time
	var from, shift, first, before []string
	for i, s := range g.segments {
		if i == 0 {
			s.from, s.first, s.before = beginning, beginning, beginning
		}
		from = append(from, strconv.FormatInt(s.from, 10))
		shift = append(shift, strconv.FormatInt(s.offset+g.positiveShift(), 10))
		first = append(first, strconv.FormatInt(s.first, 10))
		before = append(before, strconv.FormatInt(s.before, 10))
	}
	array := func(values []string) string { return "[" + strings.Join(values, ",") + "]::Array(Int64)" }
	columns := fmt.Sprintf("roundDown(%s, %s) AS segment, ", column, array(from))
	for name, values := range map[string][]string{"shift": shift, "first": first, "before": before} {
		columns += fmt.Sprintf("transform(segment, %s, %s, 0::Int64) AS %s, ", array(from), array(values), name)
	}
	return columns
}

// positiveShift returns a multiple of the step that makes every dividend positive.
func (g *Grid) positiveShift() int64 {
	const dayAndMore = 100 * 3600 * 1e6
	return (dayAndMore/g.step + 1) * g.step
}

// mod returns the remainder that is never negative.
func mod(a, n int64) int64 {
	if r := a % n; r < 0 {
		return r + n
	} else {
		return r
	}
}
