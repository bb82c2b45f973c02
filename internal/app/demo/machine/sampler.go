// Package machine measures the machine it runs on. A [Sampler] reads processor, memory, load, disks, network,
// temperatures and the busiest processes as Livegraph sources named <host>/cpu, <host>/memory and so on. A
// [Surveyor] lists what the machine consists of and what runs on it as an [Inventory].
//
// What a machine does not have (a container without sensors) is reported once and left out. The number of series is
// bounded: names that the machine creates as it runs are folded into stable ones.
package machine

import (
	"context"
	"math"
	"os"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
)

const (
	// After a call, a collector pauses for pauseFactor times the duration of the call, at most maxPause, so that
	// measuring uses at most about a twentieth of one core.
	pauseFactor, maxPause = 20, 10 * time.Second
	// maxKeys bounds the number of values of a source's tag; further ones are summed as "other".
	maxKeys = 300
	other   = "other"
)

// collector measures one source.
type collector struct {
	kind, text string
	metrics    []client.Metric
	read       func(ctx context.Context, into *readings) error

	readings  readings
	notBefore time.Time // the next call of read
}

// series identifies a value within a source. Without a tag, tag and key are "".
type series struct{ metric, tag, key string }

// readings are the values of one round of a collector, and its state between rounds.
type readings struct {
	values           map[series]float64
	keys             map[string]bool
	before, counters map[string]float64
	last, now        time.Time
}

func (r *readings) begin(now time.Time) {
	r.values = map[series]float64{}
	r.before, r.counters, r.last, r.now = r.counters, map[string]float64{}, r.now, now
}

// add adds a value to a series. It sums the values of one series.
func (r *readings) add(metric, tag, key string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return // the server would refuse the point
	}
	if !r.keys[key] && len(r.keys) >= maxKeys {
		key = other
	}
	r.keys[key] = true
	r.values[series{metric, tag, key}] += value
}

// rate adds a counter's growth per second, scaled. The first round, a new counter and one that was reset add nothing.
func (r *readings) rate(metric, tag, key, counter string, value, scale float64) {
	counter += "\x00" + metric
	r.counters[counter] = value
	elapsed := r.now.Sub(r.last).Seconds()
	if before, ok := r.before[counter]; ok && value >= before && elapsed > 0 {
		r.add(metric, tag, key, (value-before)/elapsed*scale)
	}
}

// Sampler runs the collectors. It is not safe for concurrent use.
type Sampler struct {
	host       string
	collectors []*collector
	notice     func(string)
	noticed    map[string]bool
}

// NewSampler creates a sampler for a host's name, see [HostName]. It calls notice once for each thing that cannot be
// measured.
func NewSampler(host string, notice func(string)) *Sampler {
	return newSampler(host, notice, collectors())
}

func newSampler(host string, notice func(string), from []*collector) *Sampler {
	return &Sampler{host: host, collectors: from, notice: notice, noticed: map[string]bool{}}
}

// Sources describes all sources that points may belong to, in the order of display. The tag kind of a source is cpu,
// memory, load, disk, network, temperature or processes; its name is <host>/<kind>.
func (s *Sampler) Sources() []client.Source {
	sources := make([]client.Source, len(s.collectors))
	for i, c := range s.collectors {
		sources[i] = client.Source{
			Name: s.host + "/" + c.kind, Description: c.text, Metrics: c.metrics,
			Tags: map[string]string{"host": s.host, "kind": c.kind},
		}
	}
	return sources
}

// Sample measures everything once, except what took long before. It returns rates from the second call on.
func (s *Sampler) Sample(ctx context.Context, at time.Time) (points []client.Point) {
	for _, c := range s.collectors {
		began := time.Now()
		if began.Before(c.notBefore) {
			continue
		}
		c.readings.begin(began)
		if err := c.read(ctx, &c.readings); err != nil {
			s.report(c.kind + ": not measured here: " + err.Error())
		}
		c.notBefore = time.Now().Add(min(pauseFactor*time.Since(began), maxPause))
		for series, value := range c.readings.values {
			point := client.Point{
				Source: s.host + "/" + c.kind, Metric: series.metric, Timestamp: at.UnixMilli(), Value: value,
			}
			if series.tag != "" {
				point.Tags = map[string]string{series.tag: series.key}
			}
			points = append(points, point)
		}
	}
	return points
}

func (s *Sampler) report(text string) {
	if !s.noticed[text] && len(s.noticed) < maxKeys {
		s.noticed[text] = true
		s.notice(text)
	}
}

// HostName returns this machine's name as used in the names of its sources.
func HostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return cleanName(name)
}
