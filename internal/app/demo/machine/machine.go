// Package machine measures the machine it runs on: CPU by core, memory and
// swap, load, disks, network interfaces, temperatures and the busiest
// processes, as Livegraph sources named <host>/cpu, <host>/memory and so on.
//
// A [Sampler] asks one collector for each source, all at once, whenever
// [Sampler.Sample] is called. What a machine does not have (a container without
// sensors, a kernel without disk statistics) is said once and left out; a
// collector that fails, hangs or is slow costs nobody else anything.
//
// Which series exist is bounded by design, not by the machine: names that the
// machine makes up as it goes (processes, virtual interfaces) are folded into
// few stable ones, see [roster].
//
// A [Surveyor] says what the machine is made of and what runs on it: an
// [Inventory].
//
// The package measures; sending is not its concern.
package machine

import (
	"context"
	"math"
	"os"
	"time"
)

// Metric describes one metric of a source.
type Metric struct {
	Name        string
	Unit        string // "percent", "bytes", "bytes/s", "1/s", "celsius" or "" for a plain number
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
	At     time.Time // the moment it was asked for, not when the kernel answered
	Value  float64   // finite
}

// collector measures one source. It is called by one goroutine at a time.
type collector interface {
	describe() description
	// collect adds what it can read to into and notes what is missing. Rates
	// need two calls: the first adds none.
	collect(ctx context.Context, into *readings)
}

type description struct {
	kind    string
	text    string
	metrics []Metric
}

// readings is what one call of a collector found.
type readings struct {
	values  []reading
	missing []gap
}

type reading struct {
	metric   string
	tag, key string // one tag, key and its value; both "" for none
	value    float64
}

type gap struct{ part, why string }

// add takes a value without a tag. NaN and infinities are dropped: they are a
// kernel's nonsense, and one of them would have the point refused.
func (r *readings) add(metric string, value float64) { r.addTagged(metric, "", "", value) }

// addTagged takes a value of the series with one tag.
func (r *readings) addTagged(metric, tag, key string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	r.values = append(r.values, reading{metric: metric, tag: tag, key: key, value: value})
}

// lacks notes that a part cannot be measured here, and why.
func (r *readings) lacks(part, why string) {
	r.missing = append(r.missing, gap{part: part, why: why})
}

// collectors lists what is measured, in the order in which it is shown.
func collectors() []collector {
	return []collector{
		newCPU(), memory{}, loadAverage{}, newDisk(), newNetwork(), newTemperature(), newProcesses(),
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
