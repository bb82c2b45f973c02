package load

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEveryPointIsSentOnce checks that over whole cycles each series has each step once, in
// requests of the configured size.
func TestEveryPointIsSentOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rapid.IntRange(1, 50).Draw(t, "series")
		batch := rapid.IntRange(1, 200).Draw(t, "batch")
		cycles := rapid.IntRange(1, 4).Draw(t, "cycles")
		l := newLayout(series, batch)
		points := int64(series * l.points * cycles)
		seen := map[[2]int64]bool{}
		for n := range l.requests(points) {
			group, s := l.request(n)
			if size := s.size(); size < 1 || size > int64(batch) || group >= l.groups {
				t.Fatalf("request %d of group %d/%d holds %d points", n, group, l.groups, size)
			}
			for i := s.first; i < s.end; i++ {
				for p := range int64(s.points) {
					at := [2]int64{int64(i), s.step + p}
					if seen[at] || s.step+p >= int64(l.points*cycles) {
						t.Fatalf("series %d, step %d is sent again or too late", i, s.step+p)
					}
					seen[at] = true
				}
			}
		}
		if int64(len(seen)) != points {
			t.Fatalf("%d points instead of %d", len(seen), points)
		}
	})
}

func TestAnyNumberOfPointsIsSentWithinOneRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLayout(rapid.IntRange(1, 1000).Draw(t, "series"), rapid.IntRange(1, 5000).Draw(t, "batch"))
		points := rapid.Int64Range(1, 100_000).Draw(t, "points")
		var sent int64
		for n := range l.requests(points) {
			if sent >= points {
				t.Fatalf("request %d is one too many", n)
			}
			_, s := l.request(n)
			sent += s.size()
		}
		if sent < points-int64(l.width*l.points) {
			t.Fatalf("%d of %d points", sent, points)
		}
	})
}

// TestBodiesContainTheReportedValues checks that the bodies contain the values of
// Values.At, which other writers use for comparison.
func TestBodiesContainTheReportedValues(t *testing.T) {
	type row struct {
		SourceID, Metric string
		Timestamp        int64
		Value            float64
		Timestamps       []int64
		Values           []float64
	}
	start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	sources := []string{"a", "b", "c"}
	for _, values := range AllValues {
		t.Run(string(values), func(t *testing.T) {
			w := (&Fleet{sources: sources}).bodySpec(&Plan{Values: values, Start: start, Interval: time.Second})
			s := requestSpec{first: 2, end: 7, step: 9000, points: 40}
			type point struct {
				source, metric string
				at             int64
			}
			want := map[point]float64{}
			for i := s.first; i < s.end; i++ {
				for p := range int64(s.points) {
					at := start.UnixMilli() + 1000*(s.step+p)
					want[point{sources[i%3], []string{"m0", "m1", "m2"}[i/3], at}] = values.At(i, s.step+p)
				}
			}
			var body struct{ Points, Series []row }
			require.NoError(t, json.Unmarshal(appendRows(nil, w, s), &body))
			require.NoError(t, json.Unmarshal(appendSeries(nil, w, s), &body))
			require.Len(t, body.Points, len(want))
			got := map[point]float64{}
			for _, r := range body.Points {
				got[point{r.SourceID, r.Metric, r.Timestamp}] = r.Value
			}
			require.Equal(t, want, got)
			clear(got)
			for _, r := range body.Series {
				for i, at := range r.Timestamps {
					got[point{r.SourceID, r.Metric, at}] = r.Values[i]
				}
			}
			require.Equal(t, want, got)
		})
	}
}

func TestCountersNeverFall(t *testing.T) {
	for series := range 100 {
		last := 0.0
		for step := range int64(200) {
			v := ValuesCounter.At(series, step)
			require.GreaterOrEqual(t, v, last)
			require.Equal(t, math.Trunc(v), v)
			last = v
		}
	}
}

func TestPercentilesAreWithinABucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, int64(100*time.Hour/time.Microsecond)), 1, 200).Draw(t, "microseconds")
		var h histogram
		for _, us := range all {
			h.add(time.Duration(us) * time.Microsecond)
		}
		slices.Sort(all)
		d := h.distribution()
		for p, got := range map[float64]ms{0.5: d.P50, 0.95: d.P95, 0.99: d.P99, 1: d.Max} {
			want := float64(all[int(math.Ceil(p*float64(len(all))))-1]) / 1000
			if math.Abs(float64(got)-want) > want/100+0.001 {
				t.Fatalf("p%g is %g instead of %g ms", 100*p, float64(got), want)
			}
		}
	})
}

func TestOfNothingThereIsNoPercentile(t *testing.T) {
	var h histogram
	require.Zero(t, h.distribution())
}

// TestCheckpointsCoverAllRequests checks that a checkpoint is dropped only for one of the
// same group whose request began after its answer.
func TestCheckpointsCoverAllRequests(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	m := checkpointSet{byGroup: map[int][]groupCheckpoint{}}
	m.add(0, groupCheckpoint{"a", at(0), at(10)})
	m.add(0, groupCheckpoint{"b", at(5), at(15)}) // concurrent with a: both stay
	m.add(1, groupCheckpoint{"c", at(20), at(25)})
	require.ElementsMatch(t, []string{"a", "b", "c"}, m.all())
	m.add(0, groupCheckpoint{"d", at(12), at(30)}) // after a, concurrent with b
	require.ElementsMatch(t, []string{"b", "c", "d"}, m.all())
	m.add(0, groupCheckpoint{"e", at(40), at(41)})
	require.ElementsMatch(t, []string{"c", "e"}, m.all())
}

func TestPlansOutOfBoundsAreRefusedByField(t *testing.T) {
	good := Plan{Points: 100, Batch: 10, Callers: 2}
	require.NoError(t, good.Check(10))
	for field, change := range map[string]func(*Plan){
		"points must be from 1": func(p *Plan) { p.Points = 0 },
		"batch must be from 1":  func(p *Plan) { p.Batch = maxBatch + 1 },
		"callers must be":       func(p *Plan) { p.Callers = 257 },
		"rate must be":          func(p *Plan) { p.Rate = math.NaN() },
		"format must be":        func(p *Plan) { p.Format = "xml" },
		"values must be":        func(p *Plan) { p.Values = "nice" },
		"interval must be":      func(p *Plan) { p.Interval = 1500 * time.Microsecond },
		"points must be fewer":  func(p *Plan) { p.Points = 1e12 },
	} {
		bad := good
		change(&bad)
		require.ErrorContains(t, bad.Check(10), field)
	}
	few := good
	few.Batch = 1
	require.ErrorContains(t, few.Check(maxSeries), "batch must be at least 100 for 1000000 series")
	require.ErrorContains(t, Size{Sources: 11, Series: 10}.Check(), "sources must be from 1 to 10")
	require.ErrorContains(t, Size{Sources: 1}.Check(), "series must be")
}
