// Package watch samples the resources of an environment's processes and the consumer lag during a
// run, and reports upward trends afterwards.
package watch

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/load"
)

// Sample contains the measurements of one time.
type Sample struct {
	At        time.Duration // since the start of the watch
	Processes map[string]Process
	Lag       map[string]int64 // records, by consumer group; empty: Kafka did not answer
}

// Process contains the resources of a process.
type Process struct {
	load.Vitals
	Life int // number of starts
}

// Watch samples an environment.
type Watch struct {
	env    *environment.Environment
	stores *environment.Stores
	client *http.Client
	began  time.Time

	mu      sync.Mutex
	samples []Sample
}

const (
	scrapeTimeout = 2 * time.Second
	lagTimeout    = 3 * time.Second
)

// New creates a watch that starts now.
func New(env *environment.Environment, s *environment.Stores) *Watch {
	return &Watch{env: env, stores: s, began: time.Now(), client: &http.Client{
		Timeout: scrapeTimeout, Transport: &http.Transport{DisableKeepAlives: true},
	}}
}

// Run takes a sample at each interval until ctx ends.
func (w *Watch) Run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			sample := w.sample(ctx)
			if ctx.Err() != nil {
				return
			}
			w.mu.Lock()
			w.samples = append(w.samples, sample)
			w.mu.Unlock()
		}
	}
}

// Samples returns the samples so far, the oldest first.
func (w *Watch) Samples() []Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.samples)
}

// sample takes a sample. It omits what is unavailable.
func (w *Watch) sample(ctx context.Context) Sample {
	s := Sample{At: time.Since(w.began), Processes: map[string]Process{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, r := range w.env.Roles("") {
		if r.Duplicate {
			continue
		}
		all.Go(func() {
			life := r.Starts()
			vitals, err := w.vitals(ctx, r.Metrics)
			if err != nil || life != r.Starts() {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			s.Processes[r.Name] = Process{vitals, life}
		})
	}
	all.Wait()
	s.Lag, _ = w.lag(ctx)
	return s
}

func (w *Watch) vitals(ctx context.Context, at string) (load.Vitals, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		return load.Vitals{}, err
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return load.Vitals{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		return load.Vitals{}, err
	}
	return load.ReadVitals(page)
}

// lag returns how many records each consumer group has not consumed yet.
func (w *Watch) lag(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	var groups []string
	for name := range faults.Groups() {
		groups = append(groups, name)
	}
	described, err := w.stores.Log.Lag(ctx, groups...)
	if err == nil {
		err = described.Error()
	}
	if err != nil {
		return nil, err
	}
	lag := map[string]int64{}
	for name, group := range described {
		lag[name] = group.Lag.Total()
	}
	return lag, nil
}
