// Package watch looks, every few seconds of a run, at what the processes of a world take
// and how far the consumers are behind, and says afterwards what of it goes up.
package watch

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/livegraph/livegraph/test/chaos/faults"
	"github.com/livegraph/livegraph/test/chaos/load"
	"github.com/livegraph/livegraph/test/chaos/world"
)

// Sample is what was seen at one time.
type Sample struct {
	At        time.Duration // since the watch began
	Processes map[string]Process
	Lag       map[string]int64 // records, by consumer group; empty: Kafka did not say
}

// Process is what one takes.
type Process struct {
	load.Vitals
	Life int // how often it has been started
}

// Watch takes samples of a world.
type Watch struct {
	world  *world.World
	stores *world.Stores
	client *http.Client
	began  time.Time

	mu      sync.Mutex
	samples []Sample
}

const (
	scrapeLimit = 2 * time.Second
	lagLimit    = 3 * time.Second
)

// New creates a watch, which begins now.
func New(w *world.World, s *world.Stores) *Watch {
	return &Watch{world: w, stores: s, began: time.Now(), client: &http.Client{
		Timeout: scrapeLimit, Transport: &http.Transport{DisableKeepAlives: true},
	}}
}

// Run takes a sample every so often until ctx ends.
func (w *Watch) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			sample := w.look(ctx)
			if ctx.Err() != nil {
				return
			}
			w.mu.Lock()
			w.samples = append(w.samples, sample)
			w.mu.Unlock()
		}
	}
}

// Samples returns those that were taken so far, the oldest first.
func (w *Watch) Samples() []Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.samples)
}

// look takes a sample. What is unavailable is not in it.
func (w *Watch) look(ctx context.Context) Sample {
	s := Sample{At: time.Since(w.began), Processes: map[string]Process{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, r := range w.world.Roles("") {
		if r.Twin {
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
	ctx, cancel := context.WithTimeout(ctx, lagLimit)
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
