package points

import (
	"slices"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

const (
	// maxOpenHours is the maximum number of series whose rollups are computed here, with about 300
	// bytes each, or 50 if they have few points. The rollups of further series are computed from the
	// stored points.
	maxOpenHours = 200_000
	// openHourIdle is how long a series needs no place after its last points, if places are scarce.
	openHourIdle = 10 * time.Minute
	// sweepInterval is the minimum time between searches for idle series.
	sweepInterval = time.Minute

	// windowPieces is the number of pieces that are kept to order them, with 100 bytes each. When there are as
	// many, the earlier half follows. Four callers that send records of a minute need the other half.
	windowPieces = 32
	// maxEarlier is the number of pieces of earlier hours after which these are computed instead: points of
	// the past are loaded, after newer ones. After a single newer piece, they are at once.
	maxEarlier = 8
	// maxWindows is the maximum number of series with a window. Further series have rollups only while
	// their points come in the order of time.
	maxWindows = 10_000

	// minMinutePoints is the number of points per minute below which rollups are computed from the stored
	// points: the row of a minute costs as much as computing it from ten points.
	minMinutePoints = 10
	// firstMinutes is the number of minutes of an hour from which the points per minute are known.
	firstMinutes = 5
	// sparseTime is how long series with fewer are ignored after the hour in which they had, before their
	// points are counted again.
	sparseTime = 6 * time.Hour

	// Rollups are stored when they are many, or have waited. The fixed costs of an insert are
	// those of some 50,000 rows.
	rollupRows    = 100_000
	rollupMaxWait = 5 * time.Second
)

// piece has consecutive points of one record within a minute.
type piece struct {
	aggregate
	fingerprint uint64
}

// openHour is the hour of a series that gets points.
type openHour struct {
	start, end int64     // microseconds since the Unix epoch
	minuteEnd  int64     // of the current minute
	lastUS     int64     // time of the last point of the current minute
	minute     aggregate // of the current minute
	complete   aggregate // of the minutes of the hour before it
	// fingerprint is that of the points in minute and complete, and minutesFingerprint that of the rows of
	// the minutes in complete.
	fingerprint, minutesFingerprint uint64
	// disordered: points came in another order than that of time. The rollups of the hour must be
	// computed from the stored points.
	disordered bool
	// sparse: the first minutes had few points.
	sparse  bool
	minutes int // number of complete minutes
	pieces  int // number of pieces of this hour
	earlier int // number of pieces of earlier hours since the last one of this hour
	touched time.Time
	// window has the latest pieces in the order of time, after all points of the fields above. Records
	// of several callers may come in another order within it. Its capacity is 0 until points of the
	// series came in another order.
	window []piece
}

// place is what an aggregator knows of a series.
type place struct {
	hour *openHour // nil: the series has few points per minute, so its rollups are not computed here
	// Without an hour: the time until which the points of the series are ignored, in microseconds since the
	// Unix epoch, and the time in seconds at which that was decided.
	until, decided int64
}

// aggregator computes the rollups of points that arrive in the order of time, while they are stored.
// It sees neither points that were stored before it was created or in another process, nor deletions:
// the rows are valid only as far as they match the stored points, which passes of the rollups verify;
// see docs/adr/0092-rollups-while-points-are-stored.md. It is not safe for concurrent use.
type aggregator struct {
	series   map[uint64]place
	windows  int // number of hours with a window
	finished clickhouse.Rollups
	waiting  time.Time // since when there are finished rows
	swept    time.Time
	versions []uint64 // scratch
	now      func() time.Time
	// minPoints is minMinutePoints, or less in tests.
	minPoints int
}

func newAggregator() *aggregator {
	return &aggregator{series: map[uint64]place{}, now: time.Now, minPoints: minMinutePoints}
}

// addAndTake adds points, and returns the finished rows if they are due. A nil aggregator computes nothing.
func (a *aggregator) addAndTake(c *clickhouse.PointColumns) *clickhouse.Rollups {
	if a == nil {
		return nil
	}
	a.add(c)
	return a.take()
}

// add adds points. Those of each series are in the order of time.
func (a *aggregator) add(c *clickhouse.PointColumns) {
	now, row := a.now(), 0
	a.versions = c.Versions.AppendTo(a.versions[:0], 0)
	for series, rows := range c.Series.All() {
		if h := a.open(series, c.TS[row], now); h != nil {
			a.addSeries(series, h, c.TS[row:row+rows], c.Values[row:row+rows], a.versions[row:row+rows])
			if h.sparse {
				a.skip(series, h, now)
			}
		}
		row += rows
	}
	if a.waiting.IsZero() && a.finished.Minutes.Len() > 0 {
		a.waiting = now
	}
}

// open returns the hour of a series that gets points from a time on. It returns nil if there is no place for
// it, or if its points are ignored.
func (a *aggregator) open(series uint64, us int64, now time.Time) *openHour {
	known, ok := a.series[series]
	switch {
	case known.hour != nil:
		known.hour.touched = now
		return known.hour
	case ok && us < known.until, !ok && len(a.series) >= maxOpenHours && !a.sweep(now):
		return nil
	}
	h := &openHour{touched: now}
	a.series[series] = place{hour: h}
	return h
}

// skip ignores the points of a series with few points per minute for some time.
func (a *aggregator) skip(series uint64, h *openHour, now time.Time) {
	if cap(h.window) > 0 {
		a.windows--
	}
	a.series[series] = place{until: h.end + sparseTime.Microseconds(), decided: now.Unix()}
}

// sweep removes idle series, and reports whether there is a place. Their rollups are computed from the
// stored points.
func (a *aggregator) sweep(now time.Time) bool {
	if now.Sub(a.swept) < sweepInterval {
		return false
	}
	a.swept = now
	for series, p := range a.series {
		switch {
		case p.hour == nil && now.Unix()-p.decided < int64(sparseTime/time.Second):
			continue
		case p.hour != nil && now.Sub(p.hour.touched) <= openHourIdle:
			continue
		case p.hour != nil && cap(p.hour.window) > 0:
			a.windows--
		}
		delete(a.series, series)
	}
	return len(a.series) < maxOpenHours
}

// addSeries adds points of a series, which are divided where a minute or a record begins.
func (a *aggregator) addSeries(series uint64, h *openHour, ts []int64, values []float64, versions []uint64) {
	for i := 0; i < len(ts); {
		minuteEnd, end := minuteOf(ts[i])+clickhouse.MinuteUS, i+1
		for end < len(ts) && ts[end] < minuteEnd && ts[end] > ts[end-1] && versions[end] == versions[i] {
			end++
		}
		p := piece{aggregateOf(ts[i:end], values[i:end]), clickhouse.Fingerprint(ts[i:end], versions[i])}
		i = end
		if cap(h.window) == 0 {
			a.append(series, h, &p)
			continue
		}
		if len(h.window) == cap(h.window) {
			for k := range windowPieces / 2 {
				a.append(series, h, &h.window[k])
			}
			h.window = h.window[:copy(h.window, h.window[windowPieces/2:])]
		}
		at := len(h.window)
		for at > 0 && h.window[at-1].firstUS > p.firstUS {
			at--
		}
		h.window = slices.Insert(h.window, at, p)
	}
}

// append adds the next piece of a series in the order of time. Pieces that do not follow the ones before
// them have no rollups, and neither do those of the rest of their hour.
func (a *aggregator) append(series uint64, h *openHour, p *piece) {
	switch {
	case p.firstUS < 0:
		return
	case p.firstUS < h.start: // the rollups of its hour will not match
		a.widen(h)
		if h.earlier++; h.earlier <= maxEarlier && h.pieces > 1 {
			return
		}
		h.begin(p.firstUS)
	case p.firstUS >= h.end:
		a.finishHour(series, h)
		h.begin(p.firstUS)
	case p.firstUS <= h.lastUS:
		h.disordered = true
		a.widen(h)
	}
	h.earlier = 0
	h.pieces++
	if h.disordered {
		return
	}
	if p.firstUS >= h.minuteEnd {
		a.finishMinute(series, h)
		h.minuteEnd = minuteOf(p.firstUS) + clickhouse.MinuteUS
	}
	h.minute.append(&p.aggregate)
	h.lastUS = p.lastUS
	h.fingerprint += p.fingerprint
}

// widen adds a window to the hour of a series whose points do not come in the order of time, unless there are
// too many windows.
func (a *aggregator) widen(h *openHour) {
	if cap(h.window) == 0 && a.windows < maxWindows {
		h.window = make([]piece, 0, windowPieces)
		a.windows++
	}
}

// begin begins the hour of a time.
func (h *openHour) begin(us int64) {
	start := us - us%clickhouse.HourUS
	*h = openHour{
		start: start, end: start + clickhouse.HourUS, minuteEnd: minuteOf(us) + clickhouse.MinuteUS, lastUS: us - 1,
		touched: h.touched, window: h.window,
	}
}

func minuteOf(us int64) int64 { return us - us%clickhouse.MinuteUS }

// finishMinute adds a row for the current minute, if it has points.
func (a *aggregator) finishMinute(series uint64, h *openHour) {
	if h.minute.points == 0 {
		return
	}
	minutes := &a.finished.Minutes
	appendRow(minutes, series, minuteOf(h.minute.firstUS), &h.minute)
	h.minutesFingerprint += minutes.Fingerprint(minutes.Len() - 1)
	h.complete.append(&h.minute)
	h.minute = aggregate{}
	if h.minutes++; h.minutes == firstMinutes {
		h.sparse = int(h.complete.points) < a.minPoints*firstMinutes
	}
}

// finishHour adds the rows of the last minute and of the hour.
func (a *aggregator) finishHour(series uint64, h *openHour) {
	a.finishMinute(series, h)
	if h.disordered || h.complete.points == 0 {
		return
	}
	appendRow(&a.finished.Hours, series, h.start, &h.complete)
	a.finished.Fingerprints = append(a.finished.Fingerprints, h.fingerprint)
	a.finished.MinuteFingerprints = append(a.finished.MinuteFingerprints, h.minutesFingerprint)
}

// appendRow adds a row for the minute or hour from a time on.
func appendRow(c *clickhouse.RollupColumns, series uint64, start int64, a *aggregate) {
	c.Series.Append(series, 1)
	c.TS, c.Points = append(c.TS, start), append(c.Points, a.points)
	c.Totals, c.Lowest, c.Highest = append(c.Totals, a.total), append(c.Lowest, a.lowest), append(c.Highest, a.highest)
	c.First, c.Last = append(c.First, a.first), append(c.Last, a.last)
	c.FirstUS, c.LastUS = append(c.FirstUS, uint32(a.firstUS-start)), append(c.LastUS, uint32(a.lastUS-start))
	c.Increases, c.Spreads = append(c.Increases, a.increase), append(c.Spreads, a.spread)
}

// take returns the finished rows if they are due, and otherwise nil.
func (a *aggregator) take() *clickhouse.Rollups {
	n := a.finished.Minutes.Len()
	if n == 0 || n < rollupRows && a.now().Sub(a.waiting) < rollupMaxWait {
		return nil
	}
	taken := a.finished
	a.finished, a.waiting = clickhouse.Rollups{}, time.Time{}
	return &taken
}
