package timeseries

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Pieces divides the time from Start on, exclusive, into buckets of a length of Step, and each bucket into
// two pieces: the first Split of it, and the rest. A piece contains its end but not its begin. All are in
// milliseconds.
type Pieces struct {
	Start, Step, Split int64
	LateOnly           bool // the first piece of each bucket is not read
}

// of returns the number of the piece of a time, which is twice the number of its bucket, and one more for the
// second piece. It also returns the end of the piece.
func (p *Pieces) of(ms int64) (piece, end int64) {
	bucket, at := (ms-p.Start-1)/p.Step, (ms-p.Start-1)%p.Step
	begin := p.Start + bucket*p.Step
	if at >= p.Split {
		return 2*bucket + 1, begin + p.Step
	}
	return 2 * bucket, begin + p.Split
}

// Window summarizes the consecutive samples of a series in a time. Times are in milliseconds.
type Window struct {
	Count           int
	Sum, correction float64 // Neumaier's sum
	Min, Max        float64
	First, Last     float64
	FirstMS, LastMS int64
	// Dropped is the sum of the samples before one that is lower, at which a counter was reset.
	Dropped float64
	Resets  int // samples that are lower than the one before
	Changes int // samples that differ from the one before
}

// Add adds a later sample.
func (w *Window) Add(ms int64, value float64) {
	if w.Count == 0 {
		*w = Window{
			Count: 1, Sum: value, Min: value, Max: value, First: value, Last: value, FirstMS: ms, LastMS: ms,
		}
		return
	}
	w.plus(value)
	w.step(value)
	w.Count++
	w.Min, w.Max = min(w.Min, value), max(w.Max, value)
	w.Last, w.LastMS = value, ms
}

// step counts the step from the last sample to the next one.
func (w *Window) step(next float64) {
	if next == w.Last {
		return
	}
	w.Changes++
	if next < w.Last {
		w.Resets++
		w.Dropped += w.Last
	}
}

// Join adds the samples of a later time.
func (w *Window) Join(next *Window) {
	switch {
	case next.Count == 0:
		return
	case w.Count == 0:
		*w = *next
		return
	}
	w.plus(next.Sum)
	w.correction += next.correction
	w.step(next.First)
	w.Count, w.Changes, w.Resets = w.Count+next.Count, w.Changes+next.Changes, w.Resets+next.Resets
	w.Dropped += next.Dropped
	w.Min, w.Max = min(w.Min, next.Min), max(w.Max, next.Max)
	w.Last, w.LastMS = next.Last, next.LastMS
}

// plus adds a value to the sum and its error to the correction.
func (w *Window) plus(value float64) {
	sum := w.Sum + value
	if math.Abs(w.Sum) >= math.Abs(value) {
		w.correction += (w.Sum - sum) + value
	} else {
		w.correction += (value - sum) + w.Sum
	}
	w.Sum = sum
}

// Total returns the sum of the samples. It is infinite or not a number if the sum overflowed.
func (w *Window) Total() float64 { return w.Sum + w.correction }

// PieceWindow is the window of a piece.
type PieceWindow struct {
	Piece int64
	Window
}

// WindowQuery selects the windows of pieces.
type WindowQuery struct {
	Series  []uint64 // of numbers
	Range   Range
	Pieces  Pieces
	MaxRows int64 // that are read
}

// maxWindows is the maximum number of windows that are collected, with 120 bytes each.
const maxWindows = 1_000_000

var (
	// ErrTooManyRows means that a query of windows reads too many rows or has too many windows.
	ErrTooManyRows = errors.New("too many rows for windows")
	// ErrInexact means that a series has several points in a millisecond.
	ErrInexact = errors.New("several points in a millisecond")
)

// Windows returns the windows of each series that have samples, in ascending order. It reads the points as
// a stream, so the memory depends only on the number of windows.
func (r *Reader) Windows(ctx context.Context, q WindowQuery) (found map[uint64][]PieceWindow, err error) {
	if len(q.Series) == 0 {
		return nil, nil
	}
	if err := q.Range.applyHidden(q.Range.FromUS, q.Series); err != nil {
		return nil, err
	}
	err = r.untilCertain(func(how reading) (repeated bool, err error) {
		from, order := clickhouse.TablePoints, ""
		if how == onlyCurrent { // FINAL does not keep the order
			from, order = from+" FINAL", " ORDER BY series, us"
		}
		runs := &windowRuns{query: &q}
		err = r.db.QueryBlocks(
			ctx, clickhouse.OpAggregate, selectPoints(microsecondColumns, from, q.Series, &q.Range)+order,
			q.Range.parameters(), pointColumns, runs.add,
		)
		if err != nil {
			return false, err
		}
		found, repeated, err = runs.combine()
		return repeated, err
	})
	r.db.CountAggregate(clickhouse.SourcePoints)
	return found, err
}

// windowRuns collects windows from rows. A run is consecutive rows of a series and a piece in the order of
// time. As for bucketRuns, a point has several rows only if runs overlap.
type windowRuns struct {
	query *WindowQuery
	rows  int64
	list  []windowRun
}

type windowRun struct {
	series         uint64
	fromUS, lastUS int64
	endMS          int64 // of the piece
	PieceWindow
}

// add adds the rows of a block.
func (w *windowRuns) add(b *native.Block) error {
	series, times, values := b.UInt64(0), b.Int64(1), b.Float64(2)
	if w.rows += int64(len(series)); w.rows > w.query.MaxRows {
		return ErrTooManyRows
	}
	run := &windowRun{} // no row belongs to it
	if n := len(w.list); n > 0 {
		run = &w.list[n-1]
	}
	for i, id := range series {
		us, ms := times[i], times[i]/1000
		if run.series == id && us > run.lastUS && ms <= run.endMS {
			if ms == run.LastMS {
				return ErrInexact
			}
			run.Add(ms, values[i])
			run.lastUS = us
			continue
		}
		piece, end := w.query.Pieces.of(ms)
		if w.query.Pieces.LateOnly && piece%2 == 0 {
			continue
		}
		if len(w.list) == maxWindows {
			return ErrTooManyRows
		}
		w.list = append(w.list, windowRun{
			series: id, fromUS: us, lastUS: us, endMS: end, PieceWindow: PieceWindow{Piece: piece},
		})
		run = &w.list[len(w.list)-1]
		run.Add(ms, values[i])
	}
	return nil
}

// combine returns the windows of each series. repeated reports whether a point may have been counted twice.
func (w *windowRuns) combine() (found map[uint64][]PieceWindow, repeated bool, err error) {
	slices.SortFunc(w.list, func(a, b windowRun) int {
		return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.fromUS, b.fromUS))
	})
	found = map[uint64][]PieceWindow{}
	for i := range w.list {
		run := &w.list[i]
		windows := found[run.series]
		if n := len(windows); n > 0 && w.list[i-1].series == run.series {
			if w.list[i-1].lastUS >= run.fromUS {
				return nil, true, nil
			}
			if last := &windows[n-1]; last.Piece == run.Piece {
				if last.LastMS == run.FirstMS {
					return nil, false, ErrInexact
				}
				last.Join(&run.Window)
				continue
			}
		}
		found[run.series] = append(windows, run.PieceWindow)
	}
	return found, false, nil
}
