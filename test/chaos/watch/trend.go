package watch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/livegraph/livegraph/test/chaos/load"
)

// LeastForTrends is how long a run has to be for its trends to mean anything.
const LeastForTrends = 20 * time.Minute

// Measure is something that must not go up forever.
type Measure struct {
	Name  string
	Unit  string
	Of    func(load.Vitals) float64
	Floor float64 // per hour: less than that is no trend, however small the whole is
}

// Measures are those that the verdict is about.
func Measures() []Measure {
	return []Measure{
		{"memory", "MiB", func(v load.Vitals) float64 { return v.Resident / (1 << 20) }, 32},
		{"goroutines", "", func(v load.Vitals) float64 { return v.Goroutines }, 50},
		{"open files", "", func(v load.Vitals) float64 { return v.OpenFiles }, 25},
	}
}

// Trend is how something goes over the second half of a run.
type Trend struct {
	Process string
	Measure Measure
	Mean    float64
	Slope   float64 // per hour
	Sure    float64 // the slope by its standard error
	Samples int
	// Late is the slope of the last quarter of the run, and LateSamples what it is of.
	Late        float64
	LateSamples int
}

const (
	// warmUp is the share of the run that a process is given after each start: pools and
	// caches fill up.
	warmUp = 1.0 / 20
	// share is how much an hour must add, by the mean, to be a trend.
	share = 0.1
	// sure is how many standard errors the slope must be. Samples that follow each other
	// are alike, so it is more than for independent ones.
	sure = 6
	// going is how much of such a slope the last quarter must still have: what levels off
	// was filling up.
	going = 0.5
	// leastLate is how many samples say something of the last quarter.
	leastLate = 60
)

// Rises reports that it goes up by more than chance and caches: over the second half, and
// still in the last quarter, unless that says nothing.
func (t Trend) Rises() bool {
	limit := max(t.Measure.Floor, share*t.Mean)
	if t.Slope <= limit || t.Sure <= sure {
		return false
	}
	return t.LateSamples < leastLate || t.Late > going*limit
}

// String is the trend for people.
func (t Trend) String() string {
	return fmt.Sprintf(
		"%s of %s: %+.1f %s/h (in the last quarter %+.1f), mean %.1f", t.Measure.Name, t.Process, t.Slope, t.Measure.Unit,
		t.Late, t.Mean,
	)
}

// Trends returns how each process goes over the second half of samples: the slope within
// its lives, since it begins again with each start.
func Trends(samples []Sample) (all []Trend) {
	if len(samples) == 0 {
		return nil
	}
	whole := samples[len(samples)-1].At
	names := map[string]bool{}
	for _, s := range samples {
		for name := range s.Processes {
			names[name] = true
		}
	}
	for _, m := range Measures() {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			trend := trendOf(name, m, lives(name, m, samples, whole, whole/2))
			late := trendOf(name, m, lives(name, m, samples, whole, whole/4*3))
			trend.Late, trend.LateSamples = late.Slope, late.Samples
			all = append(all, trend)
		}
	}
	return all
}

type dot struct{ hours, value float64 }

// lives are the samples of a process from some time on that count, each life's by themselves.
func lives(name string, m Measure, samples []Sample, whole, from time.Duration) (all [][]dot) {
	life, began := -1, time.Duration(0)
	for _, s := range samples {
		p, ok := s.Processes[name]
		if !ok {
			continue
		}
		if p.Life != life {
			life, began, all = p.Life, s.At, append(all, nil)
		}
		if s.At >= from && s.At-began >= time.Duration(warmUp*float64(whole)) {
			all[len(all)-1] = append(all[len(all)-1], dot{s.At.Hours(), m.Of(p.Vitals)})
		}
	}
	return all
}

// trendOf fits one slope to all lives, each with its own height.
func trendOf(name string, m Measure, lives [][]dot) Trend {
	t := Trend{Process: name, Measure: m}
	var sum, xx, xy, yy float64
	counted := 0
	for _, life := range lives {
		if len(life) == 0 {
			continue
		}
		counted++
		var x, y float64
		for _, d := range life {
			x, y = x+d.hours, y+d.value
		}
		n := float64(len(life))
		for _, d := range life {
			dx, dy := d.hours-x/n, d.value-y/n
			xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
		}
		sum += y
		t.Samples += len(life)
	}
	if t.Samples == 0 {
		return t
	}
	t.Mean = sum / float64(t.Samples)
	free := t.Samples - counted - 1
	if xx == 0 || free < 1 {
		return t
	}
	t.Slope = xy / xx
	rest := max(yy-t.Slope*xy, 0) / float64(free)
	if deviation := math.Sqrt(rest / xx); deviation > 0 {
		t.Sure = t.Slope / deviation
	} else if t.Slope != 0 {
		t.Sure = math.Inf(int(t.Slope))
	}
	return t
}
