package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// readPatience bounds how long a reading is tried for: what is not visible
	// by then is late, and the next reading says how late.
	readPatience = 8 * time.Second
	// valueColumn is the column of raw and latest values.
	valueColumn = "value"
)

// watcher reads back what was sent: it waits until an ingest's points are
// visible, which measures freshness, and takes the latest values with it.
type watcher struct {
	client   *client.Client
	stats    *stats
	every    time.Duration // at most one reading in this time
	interval time.Duration // of the measurements
	host     string
	kinds    map[string]string // kind by source name
	units    map[string]string // unit by kind and metric, see unitKey
	answered <-chan acknowledged
	visible  func() // told each time that points were found visible

	begun bool // the CPU's history was read, and every value since
}

// run reads until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case ack := <-w.answered:
			wait := w.every - time.Since(ack.at)
			if err := w.read(ctx, ack); err != nil && ctx.Err() == nil {
				wait = max(wait, w.afterError(err))
			}
			if !sleep.For(ctx, wait) {
				return
			}
			// What was answered during the pause was not awaited from the
			// start: it would look late.
			select {
			case <-w.answered:
			default:
			}
		}
	}
}

// afterError notes why nothing could be read and gives how long to let it be.
func (w *watcher) afterError(err error) time.Duration {
	wait := time.Second
	var fe *fault.Error
	if errors.As(err, &fe) {
		wait = max(wait, fe.RetryAfter)
	}
	w.stats.unreadable(publicText(err))
	w.begun = false // what was missed belongs into the history
	return wait
}

// read waits for the acknowledged points and shows the latest values.
func (w *watcher) read(ctx context.Context, ack acknowledged) error {
	var processes, rest []string
	for name, id := range ack.ids {
		if w.kinds[name] == "processes" {
			processes = append(processes, id)
		} else if w.kinds[name] != "" {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	slices.Sort(rest)
	latest, err := w.client.Query(ctx, client.Query{
		SourceIDs: rest, Metrics: headlineMetrics(), Latest: true, Checkpoint: ack.checkpoint, Limit: 100,
	})
	if err != nil {
		return err
	}
	w.stats.visible(time.Since(ack.at))
	w.visible()
	read := w.values(latest)
	if !w.begun {
		if err := w.readHistory(ctx, ack.ids[w.host+"/cpu"], &read); err != nil {
			return err
		}
		w.begun = true
	}
	if len(processes) > 0 {
		if read.processes, err = w.readProcesses(ctx, processes); err != nil {
			return err
		}
	}
	w.stats.show(read)
	return nil
}

// readHistory takes the CPU's last minutes, so that the line is there at once
// when the demo is started again.
func (w *watcher) readHistory(ctx context.Context, cpu string, read *shown) error {
	if cpu == "" {
		return nil
	}
	results, err := w.client.Query(ctx, client.Query{
		SourceIDs: []string{cpu}, Metrics: []string{machine.CPUUsage}, From: ago(mostHistory * w.interval),
	})
	if err != nil {
		return err
	}
	for _, r := range results {
		if len(r.Tags) == 0 {
			read.cpuTimes, read.cpu = r.Numbers(valueColumn)
		}
	}
	return nil
}

// readProcesses takes the processes that were among the busiest just now.
func (w *watcher) readProcesses(ctx context.Context, sources []string) ([]processRow, error) {
	results, err := w.client.Query(ctx, client.Query{
		SourceIDs: sources, Metrics: []string{machine.ProcessCPU, machine.ProcessRSS}, Latest: true,
		From: ago(3*w.interval + 10*time.Second), Limit: 100,
	})
	if err != nil {
		return nil, err
	}
	rows := map[string]*processRow{}
	newest := time.Time{}
	for _, r := range results {
		if times, _ := r.Numbers(valueColumn); len(times) > 0 && times[len(times)-1].After(newest) {
			newest = times[len(times)-1]
		}
	}
	for _, r := range results {
		times, values := r.Numbers(valueColumn)
		if len(times) == 0 || times[len(times)-1].Before(newest) {
			continue
		}
		name := r.Tags["process"]
		if rows[name] == nil {
			rows[name] = &processRow{name: name}
		}
		if last := values[len(values)-1]; r.Metric == machine.ProcessCPU {
			rows[name].cpu = last
		} else {
			rows[name].rss = last
		}
	}
	list := make([]processRow, 0, len(rows))
	for _, row := range rows {
		if row.cpu > 0 || row.rss > 0 { // not the kernel's idle threads
			list = append(list, *row)
		}
	}
	slices.SortFunc(list, func(a, b processRow) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.rss, a.rss), cmp.Compare(a.name, b.name))
	})
	return list, nil
}

// headline is a metric that the view shows, and how it calls it.
type headline struct {
	kind, metric, label string // %s in the label is the tag's value
}

// headlines lists what the view shows, in its order.
var headlines = []headline{
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

func headlineMetrics() []string {
	var metrics []string
	for _, h := range headlines {
		if !slices.Contains(metrics, h.metric) {
			metrics = append(metrics, h.metric)
		}
	}
	return metrics
}

// values puts the latest values into the view's order, labelled.
func (w *watcher) values(latest []client.Result) shown {
	var read shown
	for _, h := range headlines {
		var found []value
		for _, r := range latest {
			if r.Metric != h.metric || w.kinds[r.SourceName] != h.kind {
				continue
			}
			times, numbers := r.Numbers(valueColumn)
			if len(numbers) == 0 {
				continue
			}
			last, at := numbers[len(numbers)-1], times[len(times)-1]
			if at.After(read.newest) {
				read.newest = at
			}
			if h.kind == "cpu" && h.metric == machine.CPUUsage {
				read.cpu, read.cpuTimes = []float64{last}, []time.Time{at}
			}
			found = append(found, value{label: labelOf(h.label, r.Tags), unit: w.units[unitKey(h.kind, h.metric)], number: last})
		}
		slices.SortFunc(found, func(a, b value) int { return cmp.Compare(a.label, b.label) })
		read.values = append(read.values, found...)
	}
	return read
}

func unitKey(kind, metric string) string { return kind + "/" + metric }

func labelOf(format string, tags map[string]string) string {
	if !strings.Contains(format, "%s") {
		return format
	}
	for _, tag := range tags {
		return strings.Replace(format, "%s", tag, 1)
	}
	return strings.TrimSpace(strings.Replace(format, "%s", "", 1))
}

// ago writes a time span as the interface's relative time, in whole seconds.
func ago(d time.Duration) string {
	return fmt.Sprintf("-%ds", int64((d+time.Second-1)/time.Second))
}
