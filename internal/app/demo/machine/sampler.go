package machine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// patience is how long a round waits for its slowest collector. What comes
	// later is given by the next round, under the time it was asked for.
	patience = 500 * time.Millisecond
	// rest is how many times its own duration a collector is left alone after a
	// call, so that measuring costs at most about a twentieth of one core.
	rest = 20
	// longestRest bounds that: a machine that was busy for a moment is not
	// punished with a long gap.
	longestRest = 10 * time.Second
	// farewell is how long Close waits for collectors that are still at it.
	farewell = time.Second
)

// Sampler asks the collectors. It is used by one goroutine.
type Sampler struct {
	host    string
	lanes   []*lane
	notice  func(string)
	noticed map[string]bool
	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the collectors: it outlives a round
	running sync.WaitGroup
}

// lane is one collector and the call of it that may be under way.
type lane struct {
	collector collector
	kind      string
	pending   chan round // nil when no call is under way
	asked     time.Time
	notBefore time.Time
}

type round struct {
	readings readings
	took     time.Duration
}

// New creates a sampler for a host's name, see [HostName]. notice is told, once
// each, what this machine does not have. Close ends it.
func New(host string, notice func(string)) *Sampler {
	return newSampler(context.Background(), host, notice, collectors())
}

func newSampler(ctx context.Context, host string, notice func(string), from []collector) *Sampler {
	s := &Sampler{host: host, notice: notice, noticed: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	for _, c := range from {
		s.lanes = append(s.lanes, &lane{collector: c, kind: c.describe().kind})
	}
	return s
}

// Sources describes all sources that samples may come from, in the order in
// which they are best shown. Which of them this machine has, the samples say.
func (s *Sampler) Sources() []Source {
	sources := make([]Source, len(s.lanes))
	for i, l := range s.lanes {
		d := l.collector.describe()
		sources[i] = Source{
			Name: s.sourceName(d.kind), Kind: d.kind, Description: d.text, Metrics: d.metrics,
			Tags: map[string]string{"host": s.host, "kind": d.kind},
		}
	}
	return sources
}

func (s *Sampler) sourceName(kind string) string { return s.host + "/" + kind }

// Sample measures everything once and gives it under the time at. Rates appear
// from the second call on. It takes at most half a second.
func (s *Sampler) Sample(at time.Time) []Sample {
	for _, l := range s.lanes {
		if l.pending == nil && !time.Now().Before(l.notBefore) {
			s.start(l, at)
		}
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	var samples []Sample
	late := false
	for _, l := range s.lanes {
		if l.pending == nil {
			continue
		}
		if !late {
			select {
			case r := <-l.pending:
				samples = s.finish(l, r, samples)
				continue
			case <-deadline.C:
				late = true
			}
		}
		select { // time is up: only what is there already
		case r := <-l.pending:
			samples = s.finish(l, r, samples)
		default:
			s.say(l.kind+"/slow", l.kind+": slow to answer, its values come later than the others'")
		}
	}
	return samples
}

// start calls a lane's collector in a goroutine that Close waits for.
func (s *Sampler) start(l *lane, at time.Time) {
	pending := make(chan round, 1)
	l.pending, l.asked = pending, at
	s.running.Go(func() {
		began := time.Now()
		var r round
		l.collector.collect(s.ctx, &r.readings)
		r.took = time.Since(began)
		pending <- r
	})
}

// finish takes what a lane's call gave.
func (s *Sampler) finish(l *lane, r round, samples []Sample) []Sample {
	l.pending = nil
	l.notBefore = time.Time{}
	if pause := rest * r.took; pause > time.Second { // else it is cheap enough for any pace
		l.notBefore = time.Now().Add(min(pause, longestRest))
	}
	for _, gap := range r.readings.missing {
		s.say(l.kind+"/"+gap.part, fmt.Sprintf("%s: not measured here: %s", gap.part, gap.why))
	}
	source := s.sourceName(l.kind)
	for _, v := range r.readings.values {
		sample := Sample{Source: source, Metric: v.metric, At: l.asked, Value: v.value}
		if v.tag != "" {
			sample.Tags = map[string]string{v.tag: v.key}
		}
		samples = append(samples, sample)
	}
	return samples
}

func (s *Sampler) say(key, text string) {
	if s.noticed[key] {
		return
	}
	s.noticed[key] = true
	if s.notice != nil {
		s.notice(text)
	}
}

// Close ends the collectors. One that hangs in the kernel (a dead network file
// system) is left behind after a second.
func (s *Sampler) Close() {
	s.cancel()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(farewell):
	}
}
