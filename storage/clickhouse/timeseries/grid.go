package timeseries

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Grid says where the buckets of a query begin: at the multiples of a step on
// the wall clock of a time zone, counted from 1970-01-01T00:00 there. Buckets
// follow each other without gap or overlap, whatever the clocks do:
//
//   - where clocks go forward, a boundary inside the hour that is left out falls
//     on the instant of the change, so a day may last 23 hours;
//   - where clocks go back and the step is longer than the change, the boundaries
//     of the repeated hour count once, so a day may last 25 hours; a step up to
//     the change's length keeps both hours apart.
//
// All times are microseconds since the Unix epoch.
type Grid struct {
	step     int64
	segments []segment
}

// segment is a stretch of time with one offset from UTC.
type segment struct {
	from   int64 // its first instant; the first segment reaches back without end
	offset int64 // local time minus UTC
	first  int64 // its first boundary that is a multiple of the step; noBoundary: none
	before int64 // the last boundary before first: the bucket of what is between from and first
}

const noBoundary = math.MaxInt64

// segmentMargin is how far before the range the segments begin: further than any
// bucket that reaches into the range, clock changes included.
const segmentMargin = 3 * 24 * time.Hour

// NewGrid creates the grid of a step for the range from fromUS up to toUS.
func NewGrid(step time.Duration, zone *time.Location, fromUS, toUS int64) *Grid {
	g := &Grid{step: step.Microseconds()}
	stretches := offsets(zone, time.UnixMicro(fromUS).Add(-step-segmentMargin), toUS)
	for i, s := range stretches {
		if i == 0 {
			s.first, s.before = math.MinInt64, math.MinInt64
		} else {
			until := int64(noBoundary)
			if i+1 < len(stretches) {
				until = stretches[i+1].from
			}
			g.place(&s, until)
		}
		g.segments = append(g.segments, s)
	}
	return g
}

// offsets returns the stretches of one offset each, without their boundaries, from
// the one that at is in up to the one that toUS is in.
func offsets(zone *time.Location, at time.Time, toUS int64) []segment {
	const day = 24 * time.Hour
	_, offset := at.In(zone).Zone()
	list := []segment{{from: math.MinInt64, offset: int64(offset) * 1e6}}
	for at.UnixMicro() < toUS {
		_, end := at.In(zone).ZoneBounds()
		if end.IsZero() {
			break
		}
		// Where a zone follows a rule, from 2038 on, package time also ends a
		// stretch with each year, and leap years a day early: on their last day
		// the end is not ahead.
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

// place finds the segment's first boundary and the one before it.
func (g *Grid) place(s *segment, until int64) {
	last := &g.segments[len(g.segments)-1]
	s.before = g.within(last, s.from-1)
	change := s.offset - last.offset
	s.first = s.from + mod(-(s.from+s.offset), g.step) // rounded up to a multiple
	switch {
	case change > 0:
		// The wall clock jumps over [gap, gap+change): a boundary in there is now.
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

// Start returns the start of the bucket that holds the instant.
func (g *Grid) Start(us int64) int64 { return g.within(&g.segments[g.segmentOf(us)], us) }

func (g *Grid) within(s *segment, us int64) int64 {
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

// Step returns the length of a bucket, clock changes apart.
func (g *Grid) Step() time.Duration { return time.Duration(g.step) * time.Microsecond }

// Count returns how many buckets the range has, or one more than most if there
// are more than that.
func (g *Grid) Count(fromUS, toUS int64, most int) int {
	if fromUS >= toUS {
		return 0
	}
	if (toUS-fromUS)/g.step > int64(most)+2 {
		return most + 1
	}
	n := 0
	for at := g.Start(fromUS); at < toUS && n <= most; at = g.Next(at) {
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

// sql returns the expression for the start of column's bucket, both Int64 in
// microseconds. It holds nothing but numbers of ours, and refers to the columns
// of with.
func (g *Grid) sql(column string) string {
	if len(g.segments) == 1 {
		return fmt.Sprintf("%[1]s - (%[1]s + %[2]d) %% %[3]d", column, g.lift()+g.segments[0].offset, g.step)
	}
	return fmt.Sprintf("if(%[1]s < first, before, %[1]s - (%[1]s + shift) %% %[2]d)", column, g.step)
}

// with returns the columns that sql refers to, each followed by a comma: what the
// segment of column says.
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
		shift = append(shift, strconv.FormatInt(s.offset+g.lift(), 10))
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

// lift is a multiple of the step that makes every dividend positive.
func (g *Grid) lift() int64 {
	const dayAndMore = 100 * 3600 * 1e6
	return (dayAndMore/g.step + 1) * g.step
}

// mod is the remainder that is never negative.
func mod(a, n int64) int64 {
	if r := a % n; r < 0 {
		return r + n
	} else {
		return r
	}
}
