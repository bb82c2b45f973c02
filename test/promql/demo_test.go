package promql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
)

const (
	// demoStart is after the random data, in the same workspace.
	demoStart  = dataStart + int64(24*time.Hour/time.Millisecond)
	demoLength = 90 * time.Minute
	demoScrape = 10 * time.Second
	// demoFrom, demoTo and demoStep are the times of the queries over a range.
	demoFrom = demoTo - int64(10*time.Minute/time.Millisecond)
	demoTo   = demoStart + int64(85*time.Minute/time.Millisecond)
	demoStep = 10 * time.Second
	// demoHost is the host in the queries of the compliance suite. It is only part of labels.
	demoHost = "demo.promlabs.com"
)

// demo creates the series of Prometheus' demo service, which the queries of its compliance suite select.
type demo struct {
	*rand.Rand
	list []randomSeries
}

// newDemo returns the series of three instances of the demo service.
func newDemo() []randomSeries {
	d := &demo{Rand: rand.New(rand.NewPCG(1, 3))}
	for i := range 3 {
		target := []string{"job", "demo", "instance", fmt.Sprintf("%s:%d", demoHost, 10000+i)}
		d.machine(target, float64(i))
		d.batch(target, float64(i))
		for _, path := range []string{"/api/foo", "/api/bar"} {
			for _, method := range []string{"GET", "POST"} {
				for _, status := range []string{"200", "500"} {
					d.durations(append([]string{"method", method, "path", path, "status", status}, target...))
				}
			}
		}
	}
	return d.list
}

// add adds a series with a value at each scrape. The function returns false for a missing sample.
func (d *demo) add(name string, tags []string, next func(i int) (v float64, ok bool)) {
	s := randomSeries{labels: labels.FromStrings(append([]string{"__name__", name}, tags...)...)}
	offset := d.Int64N(demoScrape.Milliseconds())
	for i := range int(demoLength / demoScrape) {
		if v, ok := next(i); ok {
			s.points = append(s.points, point{demoStart + int64(i)*demoScrape.Milliseconds() + offset, v})
		}
	}
	d.list = append(d.list, s)
}

// counter returns the values of a counter that is reset about once in the data.
func (d *demo) counter(rate float64) func(int) (float64, bool) {
	total := rate * 1000 * d.Float64()
	return func(int) (float64, bool) {
		if d.IntN(500) == 0 {
			total = 0
		}
		total += rate * d.Float64() * demoScrape.Seconds()
		return total, true
	}
}

// wave returns values that rise and fall around a mean.
func (d *demo) wave(mean float64) func(int) (float64, bool) {
	phase := d.Float64() * 10
	return func(i int) (float64, bool) {
		return math.Floor(mean * (1 + 0.3*math.Sin(phase+float64(i)/40) + 0.05*d.Float64())), true
	}
}

func constant(v float64) func(int) (float64, bool) {
	return func(int) (float64, bool) { return v, true }
}

// machine adds the metrics of a machine.
func (d *demo) machine(target []string, i float64) {
	for _, mode := range []string{"idle", "system", "user"} {
		d.add("demo_cpu_usage_seconds_total", append([]string{"mode", mode}, target...), d.counter(float64(len(mode))+i))
	}
	for _, kind := range []string{"buffers", "cached", "free", "used"} {
		d.add("demo_memory_usage_bytes", append([]string{"type", kind}, target...), d.wave(float64(len(kind))*(i+1)*1e8))
	}
	used := 1e10 * (i + 1)
	d.add("demo_disk_usage_bytes", target, func(int) (float64, bool) {
		used += 1e5 * d.Float64()
		return used, true
	})
	d.add("demo_disk_total_bytes", target, constant(5e11))
	d.add("demo_num_cpus", target, constant(4))
}

// batch adds the metrics of a job that runs about each three minutes, and a metric that exists now and then.
func (d *demo) batch(target []string, i float64) {
	last := float64(demoStart/1000) - 60*i
	d.add("demo_batch_last_success_timestamp_seconds", target, func(step int) (float64, bool) {
		if d.IntN(18) == 0 {
			last = float64(demoStart/1000) + float64(step)*demoScrape.Seconds()
		}
		return last, true
	})
	present := true
	d.add("demo_intermittent_metric", target, func(int) (float64, bool) {
		switch was := present; {
		case d.IntN(12) == 0:
			present = !present
			return math.Float64frombits(value.StaleNaN), was
		default:
			return 1 + i, present
		}
	})
}

// durations adds the histogram of the requests of one kind.
func (d *demo) durations(tags []string) {
	const name = "demo_api_request_duration_seconds"
	bounds := []string{"0.001", "0.005", "0.025", "0.1", "0.5", "2.5", "+Inf"}
	rate := 1 + 5*d.Float64()
	counts := make([][]float64, int(demoLength/demoScrape)) // of each scrape, by bucket
	current := make([]float64, len(bounds))
	for i := range counts {
		for range int(rate * demoScrape.Seconds() * d.Float64()) {
			for bucket := min(d.IntN(4)+d.IntN(4), len(bounds)-1); bucket < len(bounds); bucket++ {
				current[bucket]++
			}
		}
		counts[i] = append(counts[i], current...)
	}
	for bucket, bound := range bounds {
		d.add(name+"_bucket", append([]string{"le", bound}, tags...), func(i int) (float64, bool) {
			return counts[i][bucket], true
		})
	}
	total := func(i int) float64 { return counts[i][len(bounds)-1] }
	d.add(name+"_count", tags, func(i int) (float64, bool) { return total(i), true })
	d.add(name+"_sum", tags, func(i int) (float64, bool) { return total(i) * 0.05, true })
}

// compareDemo compares the answers to systematic queries over the demo data.
func (s *server) compareDemo(t *testing.T) {
	data := newDemo()
	s.writeAll(t, data)
	o := &oracle{server: s, db: openTSDB(t, data), engine: newEngine()}
	list := systematicQueries()
	require.Greater(t, len(list), 1000)
	t.Run("systematic", func(t *testing.T) { o.compareDemoQueries(t, list) })
	if *suiteFile != "" {
		t.Run("suite", func(t *testing.T) { o.compareSuite(t, *suiteFile) })
	}
}

// compareDemoQueries compares the answers at one time and over ten minutes, as the compliance suite does.
func (o *oracle) compareDemoQueries(t *testing.T, texts []string) {
	t.Helper()
	answered, failed, points := 0, 0, 0
	for _, text := range texts {
		before := points
		for _, e := range []evaluation{
			{text: text, to: demoTo}, {text, demoFrom, demoTo, demoStep},
		} {
			want := e.by(t, o.engine, o.db)
			got := o.server.ask(t, e)
			n, err := got.matches(e, want)
			if err != nil {
				t.Errorf("%s: %v", e, err)
			}
			if points += n; want.Err != nil {
				failed++
			}
		}
		if points > before {
			answered++
		}
	}
	t.Logf("%d queries, %d with a result, %d evaluations with an error, %d points", len(texts), answered, failed, points)
	require.Greater(t, answered, len(texts)*3/4)
	require.Greater(t, points, 100*len(texts))
}
