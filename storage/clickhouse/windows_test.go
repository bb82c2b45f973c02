package clickhouse_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// requireSameWindows compares the windows of random pieces with those of the points themselves.
func (r *rollupFixture) requireSameWindows(random *rand.Rand, q timeseries.AggregateQuery, why string) {
	r.t.Helper()
	if len(q.Series) == 0 {
		return
	}
	step := 1 + random.Int64N(2*hour/1000)
	pieces := timeseries.Pieces{
		Start: q.Range.FromUS/1000 - 1 - random.Int64N(step), Step: step, Split: 1 + random.Int64N(step),
		LateOnly: random.IntN(3) == 0,
	}
	got, err := r.Windows(r.t.Context(), timeseries.WindowQuery{
		Series: q.Series, Range: q.Range, Pieces: pieces, MaxRows: 1_000_000,
	})
	points, more, rawErr := r.RawPoints(r.t.Context(), timeseries.RawQuery{
		Numbers: q.Series, Range: q.Range, Limit: 1_000_000,
	})
	require.NoError(r.t, rawErr, why)
	require.False(r.t, more, why)
	want, inexact := map[uint64][]timeseries.PieceWindow{}, false
	for id, p := range points {
		for i, us := range p.TS {
			inexact = inexact || i > 0 && us/1000 == p.TS[i-1]/1000
			bucket, at := (us/1000-pieces.Start-1)/step, (us/1000-pieces.Start-1)%step
			piece := 2 * bucket
			if at >= pieces.Split {
				piece++
			} else if pieces.LateOnly {
				continue
			}
			list := want[id]
			if n := len(list); n == 0 || list[n-1].Piece != piece {
				list = append(list, timeseries.PieceWindow{Piece: piece})
			}
			addSample(&list[len(list)-1].Window, us/1000, p.Columns[0].Numbers[i])
			want[id] = list
		}
	}
	if inexact {
		require.ErrorIs(r.t, errors.Join(err, timeseries.ErrInexact), timeseries.ErrInexact, why)
		return
	}
	require.NoError(r.t, err, why)
	require.Len(r.t, got, len(want), why)
	for id, list := range want {
		require.Len(r.t, got[id], len(list), why)
		for i := range list {
			found := got[id][i]
			require.InDelta(r.t, list[i].Sum, found.Total(), 1e-9, why)
			found.Window = withoutSum(found.Window)
			list[i].Window = withoutSum(list[i].Window)
			require.Equal(r.t, list[i], found, why)
		}
	}
}

// withoutSum returns the window without the parts that round.
func withoutSum(w timeseries.Window) timeseries.Window {
	return timeseries.Window{
		Count: w.Count, Min: w.Min, Max: w.Max, First: w.First, Last: w.Last, FirstMS: w.FirstMS, LastMS: w.LastMS,
		Resets: w.Resets, Changes: w.Changes,
	}
}

// addSample adds a sample to a window in the plainest way.
func addSample(w *timeseries.Window, ms int64, value float64) {
	if w.Count == 0 {
		w.First, w.FirstMS, w.Min, w.Max = value, ms, value, value
	} else if value != w.Last {
		w.Changes++
		if value < w.Last {
			w.Resets++
			w.Dropped += w.Last
		}
	}
	w.Count++
	w.Sum += value
	w.Min, w.Max = min(w.Min, value), max(w.Max, value)
	w.Last, w.LastMS = value, ms
}

func TestWindowsAreBounded(t *testing.T) {
	r := newRollupFixture(t, 1)
	require.NoError(t, r.InsertPoints(t.Context(), r.columns(r.nextVersion(), every(minute, t0, t0+day, id(0))...)))
	q := timeseries.WindowQuery{
		Series: []uint64{id(0)}, Range: timeseries.Range{FromUS: t0, ToUS: t0 + day}, MaxRows: 24*60 - 1,
		Pieces: timeseries.Pieces{Start: t0/1000 - 1, Step: hour / 1000, Split: hour / 1000},
	}
	_, err := r.Windows(t.Context(), q)
	require.ErrorIs(t, err, timeseries.ErrTooManyRows)
	q.MaxRows++
	found, err := r.Windows(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, found[id(0)], 24)

	c := r.columns(r.nextVersion(), every(minute, t0+500, t0+hour, id(0))...) // half a millisecond later
	require.NoError(t, r.InsertPoints(t.Context(), c))
	q.MaxRows *= 2
	_, err = r.Windows(t.Context(), q)
	require.ErrorIs(t, err, timeseries.ErrInexact)
}

// BenchmarkWindows reads the windows of a minute of 1,000 series at 1 Hz for five hours, from 18 million
// points.
func BenchmarkWindows(b *testing.B) {
	const series, inserts = 1000, 33
	db, address := open(b)
	fillTenMinutes(b, address, series, inserts)
	awaitMerges(b, address)
	const from, to = int64(t0), int64(t0) + 5*3600*second
	q := timeseries.WindowQuery{
		Series: benchIDs(series), Range: timeseries.Range{FromUS: from + 1, ToUS: to + 1}, MaxRows: 100_000_000,
		Pieces: timeseries.Pieces{Start: from / 1000, Step: minute / 1000, Split: minute / 1000},
	}
	for b.Loop() {
		found, err := timeseries.New(db).Windows(b.Context(), q)
		require.NoError(b, err)
		require.Len(b, found, series)
	}
}
