package watch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/livegraph/livegraph/test/chaos/load"
)

// MinForTrends is the minimum length of a run for meaningful trends.
const MinForTrends = 20 * time.Minute

// Measure is a resource that must not grow without bound.
type Measure struct {
	Name  string
	Unit  string
	Of    func(load.Vitals) float64
	Floor float64 // per hour: smaller slopes are not a trend, however low the mean is
}

// Measures returns the measures of the verdict.
func Measures() []Measure {
	return []Measure{
		{"memory", "MiB", func(v load.Vitals) float64 { return v.Resident / (1 << 20) }, 32},
		{"goroutines", "", func(v load.Vitals) float64 { return v.Goroutines }, 50},
		{"open files", "", func(v load.Vitals) float64 { return v.OpenFiles }, 25},
	}
}

// Trend is the trend of a measure over the second half of a run.
type Trend struct {
	Process    string
	Measure    Measure
	Mean       float64
	Slope      float64 // per hour
	TStatistic float64 // the slope divided by its standard error
	Samples    int
	// Late is the slope of the last quarter of the run, and LateSamples its number of samples.
	Late        float64
	LateSamples int
}

const (
	// warmUp is the share of the run that is ignored after each start of a process: pools and caches
	// fill up.
	warmUp = 1.0 / 20
	// minHourlyGrowth is the minimum growth per hour, relative to the mean, of a trend.
	minHourlyGrowth = 0.1
	// minTStatistic is the minimum slope in standard errors. It is higher than for independent samples,
	// since consecutive samples are correlated.
	minTStatistic = 6
	// minLateShare is the share of that slope that the last quarter must still have: a curve that
	// levels off was filling up.
	minLateShare = 0.5
	// minLateSamples is the minimum number of samples for a slope of the last quarter.
	minLateSamples = 60
)

// Rises reports whether the measure grows more than noise and caches explain: over the second half,
// and also in the last quarter if that has enough samples.
func (t Trend) Rises() bool {
	limit := max(t.Measure.Floor, minHourlyGrowth*t.Mean)
	if t.Slope <= limit || t.TStatistic <= minTStatistic {
		return false
	}
	return t.LateSamples < minLateSamples || t.Late > minLateShare*limit
}

// String returns the trend as text.
func (t Trend) String() string {
	return fmt.Sprintf(
		"%s of %s: %+.1f %s/h (in the last quarter %+.1f), mean %.1f", t.Measure.Name, t.Process, t.Slope, t.Measure.Unit,
		t.Late, t.Mean,
	)
}

// Trends returns the trend of each measure and process over the second half of samples: the slope
// within the lives of the process, since its resources start again with each start.
func Trends(samples []Sample) (all []Trend) {
	if len(samples) == 0 {
		return nil
	}
	length := samples[len(samples)-1].At
	names := map[string]bool{}
	for _, s := range samples {
		for name := range s.Processes {
			names[name] = true
		}
	}
	for _, m := range Measures() {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			trend := trendOf(name, m, segments(name, m, samples, length, length/2))
			late := trendOf(name, m, segments(name, m, samples, length, length/4*3))
			trend.Late, trend.LateSamples = late.Slope, late.Samples
			all = append(all, trend)
		}
	}
	return all
}

type timedValue struct{ hours, value float64 }

// segments returns the samples of a process after a time and after warm-up, one list for each life.
func segments(name string, m Measure, samples []Sample, length, from time.Duration) (all [][]timedValue) {
	life, began := -1, time.Duration(0)
	for _, s := range samples {
		p, ok := s.Processes[name]
		if !ok {
			continue
		}
		if p.Life != life {
			life, began, all = p.Life, s.At, append(all, nil)
		}
		if s.At >= from && s.At-began >= time.Duration(warmUp*float64(length)) {
			all[len(all)-1] = append(all[len(all)-1], timedValue{s.At.Hours(), m.Of(p.Vitals)})
		}
	}
	return all
}

// trendOf fits one common slope to all segments, each with a separate intercept.
func trendOf(name string, m Measure, segments [][]timedValue) Trend {
	t := Trend{Process: name, Measure: m}
	var sum, xx, xy, yy float64
	counted := 0
	for _, life := range segments {
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
	degreesOfFreedom := t.Samples - counted - 1
	if xx == 0 || degreesOfFreedom < 1 {
		return t
	}
	t.Slope = xy / xx
	residual := max(yy-t.Slope*xy, 0) / float64(degreesOfFreedom)
	if deviation := math.Sqrt(residual / xx); deviation > 0 {
		t.TStatistic = t.Slope / deviation
	} else if t.Slope != 0 {
		t.TStatistic = math.Inf(int(t.Slope))
	}
	return t
}
