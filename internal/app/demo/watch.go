package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// readTimeout bounds a reading.
	readTimeout = 8 * time.Second
	// The times between two readings, in the view and in lines.
	readEveryView, readEveryLines = time.Second, 5 * time.Second
)

// reader reads points back: it waits until an ingest's points are visible, which measures freshness, and reads the
// newest values.
type reader struct {
	*session
	client       *client.Client
	every        time.Duration
	acknowledged <-chan acknowledgement
	sources      map[string]machine.Source // by name
}

func newReader(s *session, acknowledged <-chan acknowledgement) *reader {
	r := &reader{
		session: s, client: s.client.RetryUntil(readTimeout), every: readEveryLines, acknowledged: acknowledged,
		sources: map[string]machine.Source{},
	}
	if _, inPlace := s.display.(*screen); inPlace {
		r.every = readEveryView
	}
	for _, source := range s.sampler.Sources() {
		r.sources[source.Name] = source
	}
	return r
}

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-r.acknowledged:
			wait := r.every - time.Since(a.at)
			if err := r.read(ctx, a); err != nil && ctx.Err() == nil {
				r.stats.update(func(s *stats) { s.readError = publicText(err) })
				wait = max(wait, time.Second)
				var fe *fault.Error
				if errors.As(err, &fe) {
					wait = max(wait, fe.RetryAfter)
				}
			}
			if !sleep.For(ctx, wait) {
				return
			}
			select { // discard one from the pause: its freshness would include the pause
			case <-r.acknowledged:
			default:
			}
		}
	}
}

// headlines lists what the view shows, in its order. %s in a label is the tag's value.
var headlines = []struct{ kind, metric, label string }{
	{"cpu", machine.CPUUsage, "cpu"},
	{"cpu", "iowait_percent", "cpu waiting for disk"},
	{"memory", machine.MemoryUsed, "memory"},
	{"memory", "available_bytes", "memory available"},
	{"load", "load1", "load, 1 minute"},
	{"temperature", "celsius", "%s"},
	{"disk", "used_percent", "disk %s"},
	{"disk", "read_bytes_per_second", "%s read"},
	{"disk", "written_bytes_per_second", "%s written"},
	{"network", "received_bytes_per_second", "%s received"},
	{"network", "sent_bytes_per_second", "%s sent"},
}

// read waits for the acknowledged points and shows the newest values.
func (r *reader) read(ctx context.Context, a acknowledgement) error {
	var ids, processes, metrics []string
	for _, name := range slices.Sorted(maps.Keys(a.ids)) {
		if r.sources[name].Kind == "processes" {
			processes = append(processes, a.ids[name])
		} else {
			ids = append(ids, a.ids[name])
		}
	}
	for _, h := range headlines {
		metrics = append(metrics, h.metric)
	}
	slices.Sort(metrics)
	if len(ids) == 0 {
		return nil
	}
	newest, err := r.client.Query(ctx, client.Query{
		SourceIDs: ids, Metrics: slices.Compact(metrics), Latest: true, Checkpoint: a.checkpoint, Limit: 100,
	})
	if err != nil {
		return err
	}
	r.stats.update(func(s *stats) { s.freshness.add(time.Since(a.at)) })
	r.record(func() { r.visible = true })
	read := r.values(newest)
	if len(processes) > 0 {
		results, err := r.client.Query(ctx, client.Query{
			SourceIDs: processes, Metrics: []string{machine.ProcessCPU, machine.ProcessRSS}, Latest: true, Limit: 100,
			From: fmt.Sprintf("-%ds", int((3*r.options.Interval + 10*time.Second).Seconds())),
		})
		if err != nil {
			return err
		}
		read.processes = busiest(results)
	}
	r.stats.setLatest(read)
	return nil
}

// values returns the newest values in the order of the view, with labels.
func (r *reader) values(results []client.Result) (read latestValues) {
	for _, h := range headlines {
		var found []value
		for _, result := range results {
			source := r.sources[result.SourceName]
			at, number, ok := last(result)
			if result.Metric != h.metric || source.Kind != h.kind || !ok {
				continue
			}
			if at.After(read.newest) {
				read.newest = at
			}
			if h.metric == machine.CPUUsage {
				read.cpu = []float64{number}
			}
			v := value{label: h.label, number: number}
			for _, tag := range result.Tags {
				v.label = strings.Replace(h.label, "%s", tag, 1)
			}
			for _, m := range source.Metrics {
				if m.Name == h.metric {
					v.unit = m.Unit
				}
			}
			found = append(found, v)
		}
		slices.SortFunc(found, func(a, b value) int { return cmp.Compare(a.label, b.label) })
		read.values = append(read.values, found...)
	}
	return read
}

// busiest returns the programs of the newest round, busiest first.
func busiest(results []client.Result) []program {
	newest := time.Time{}
	for _, r := range results {
		if at, _, ok := last(r); ok && at.After(newest) {
			newest = at
		}
	}
	programs := map[string]program{}
	for _, r := range results {
		at, number, ok := last(r)
		if !ok || at.Before(newest) {
			continue
		}
		p := programs[r.Tags["process"]]
		p.name = r.Tags["process"]
		if r.Metric == machine.ProcessCPU {
			p.cpu = number
		} else {
			p.rss = number
		}
		programs[p.name] = p
	}
	return slices.SortedFunc(maps.Values(programs), func(a, b program) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.rss, a.rss), cmp.Compare(a.name, b.name))
	})
}

// last returns the newest value of a series.
func last(r client.Result) (at time.Time, number float64, ok bool) {
	times, numbers := r.Numbers("value")
	if len(numbers) == 0 {
		return at, 0, false
	}
	return times[len(times)-1], numbers[len(numbers)-1], true
}
