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
)

const (
	// roundTimeout bounds the wait for the slowest collector of a round; what arrives later is part of a later round.
	roundTimeout = 500 * time.Millisecond
	// After a slow call a collector pauses for pauseFactor times the duration of the call, at most maxPause, so that
	// measuring uses at most about a twentieth of one core.
	pauseFactor, maxPause = 20, 10 * time.Second
	// maxKeys bounds the number of values of a source's tag; further ones are summed as "other".
	maxKeys = 300
	other   = "other"
)

// Metric describes one metric of a source.
type Metric struct {
	Name        string
	Unit        string // "percent", "bytes", "bytes/s", "celsius" or "" for a plain number
	Description string
}

// Source describes one group of metrics of this machine.
type Source struct {
	Name        string // <host>/<kind>
	Kind        string // cpu, memory, load, disk, network, temperature, processes
	Description string
	Tags        map[string]string
	Metrics     []Metric
}

// Sample is one measured value. Tags is nil where the metric has one series.
type Sample struct {
	Source string
	Metric string
	Tags   map[string]string
	At     time.Time // when it was requested
	Value  float64   // finite
}

// collector measures one source; read is called by one goroutine at a time. An error is reported once per text.
type collector struct {
	kind, text string
	metrics    []Metric
	read       func(ctx context.Context, into *readings) error
}

// readings are the values of one round of a collector, and its state between rounds.
type readings struct {
	values           []Sample // without source and time
	index            map[string]int
	keys             map[string]bool
	before, counters map[string]float64
	last, now        time.Time
}

func (r *readings) begin(now time.Time) {
	r.values, r.index = nil, map[string]int{}
	r.before, r.counters, r.last, r.now = r.counters, map[string]float64{}, r.now, now
}

// add adds a value to the series with the tag, or without tags if tag is "". It sums values of one series.
func (r *readings) add(metric, tag, key string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return // the server would refuse the point
	}
	if !r.keys[key] && len(r.keys) >= maxKeys {
		key = other
	}
	r.keys[key] = true
	if i, ok := r.index[metric+"\x00"+key]; ok {
		r.values[i].Value += value
		return
	}
	r.index[metric+"\x00"+key] = len(r.values)
	sample := Sample{Metric: metric, Value: value}
	if tag != "" {
		sample.Tags = map[string]string{tag: key}
	}
	r.values = append(r.values, sample)
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

// collectorRun is a collector and the call of it that may be in progress.
type collectorRun struct {
	collector
	readings  readings
	pending   chan error // nil when no call is in progress
	requested time.Time
	notBefore time.Time
}

// Sampler runs the collectors. It is not safe for concurrent use.
type Sampler struct {
	host    string
	runs    []*collectorRun
	notice  func(string)
	noticed map[string]bool
}

// NewSampler creates a sampler for a host's name, see [HostName]. It calls notice once for each thing that cannot be
// measured.
func NewSampler(host string, notice func(string)) *Sampler {
	return newSampler(host, notice, collectors())
}

func newSampler(host string, notice func(string), from []collector) *Sampler {
	s := &Sampler{host: host, notice: notice, noticed: map[string]bool{}}
	for _, c := range from {
		s.runs = append(s.runs, &collectorRun{collector: c, readings: readings{keys: map[string]bool{}}})
	}
	return s
}

// Sources describes all sources that samples may belong to, in the order of display.
func (s *Sampler) Sources() []Source {
	sources := make([]Source, len(s.runs))
	for i, l := range s.runs {
		sources[i] = Source{
			Name: s.host + "/" + l.kind, Kind: l.kind, Description: l.text, Metrics: l.metrics,
			Tags: map[string]string{"host": s.host, "kind": l.kind},
		}
	}
	return sources
}

// Sample measures everything once, in at most half a second. It returns rates from the second call on.
func (s *Sampler) Sample(ctx context.Context, at time.Time) (samples []Sample) {
	for _, l := range s.runs {
		if l.pending == nil && !time.Now().Before(l.notBefore) {
			l.start(ctx, at)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	for _, l := range s.runs {
		if l.pending == nil {
			continue
		}
		var err error
		select { // the result of a finished collector is used even after the timeout
		case err = <-l.pending:
		default:
			select {
			case err = <-l.pending:
			case <-bounded.Done():
				s.report(l.kind + ": slow, its values arrive late")
				continue
			}
		}
		l.pending = nil
		if err != nil {
			s.report(l.kind + ": not measured here: " + err.Error())
		}
		for _, v := range l.readings.values {
			v.Source, v.At = s.host+"/"+l.kind, l.requested
			samples = append(samples, v)
		}
	}
	return samples
}

func (l *collectorRun) start(ctx context.Context, at time.Time) {
	pending := make(chan error, 1)
	l.pending, l.requested = pending, at
	go func() {
		began := time.Now()
		l.readings.begin(began)
		err := l.read(ctx, &l.readings)
		l.notBefore = time.Time{}
		if pause := pauseFactor * time.Since(began); pause > time.Second {
			l.notBefore = time.Now().Add(min(pause, maxPause))
		}
		pending <- err
	}()
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
