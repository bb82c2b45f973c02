// Package machine measures the machine it runs on. A [Sampler] reads processor, memory, load, disks, network and the
// busiest processes as Livegraph sources. A [Surveyor] lists what the machine consists of and what runs on it as an
// [Inventory].
//
// What cannot be measured on a machine is reported once and left out. The number of series is bounded: names that the
// machine creates as it runs are folded into stable ones.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/output"
)

const (
	// After a call, a collector pauses for pauseFactor times the duration of the call, at most maxPause, so that
	// measuring uses at most about a twentieth of one core.
	pauseFactor, maxPause = 20, 10 * time.Second
	// maxKeys bounds the number of values of a source's tag; further ones are summed as "other".
	maxKeys = 300
	other   = "other"
	maxName = 64 // characters
)

// collector measures one source.
type collector struct {
	source client.Source
	read   func(ctx context.Context, c *collector) error // adds the values of a round

	noticed          bool      // that something cannot be measured
	notBefore        time.Time // the next round
	values           map[series]float64
	keys             map[string]bool    // of all rounds
	before, counters map[string]float64 // of the last round and of this one
	last, now        time.Time
}

// series identifies a value within a source. Without a tag, tag and key are "".
type series struct{ metric, tag, key string }

func (c *collector) begin(now time.Time) {
	c.values = map[series]float64{}
	c.before, c.counters, c.last, c.now = c.counters, map[string]float64{}, c.now, now
}

// add adds a value to a series. It sums the values of one series.
func (c *collector) add(metric, tag, key string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return // the server would refuse the point
	}
	if !c.keys[key] && len(c.keys) >= maxKeys {
		key = other
	}
	c.keys[key] = true
	c.values[series{metric, tag, key}] += value
}

// growth returns a counter's growth per second. It is not ok in the first round, for a new counter, and after a reset.
func (c *collector) growth(counter string, value float64) (perSecond float64, ok bool) {
	c.counters[counter] = value
	elapsed := c.now.Sub(c.last).Seconds()
	before, ok := c.before[counter]
	return (value - before) / elapsed, ok && value >= before && elapsed > 0
}

// rate adds a counter's growth per second, scaled, if it is known.
func (c *collector) rate(metric, tag, key, counter string, value, scale float64) {
	if perSecond, ok := c.growth(counter+"\x00"+metric, value); ok {
		c.add(metric, tag, key, perSecond*scale)
	}
}

// Sampler runs the collectors. It is not safe for concurrent use.
type Sampler struct {
	collectors []*collector
	notice     func(string)
}

// NewSampler creates a sampler for a host's name. It calls notice once for each source that cannot be measured.
func NewSampler(host string, notice func(string)) *Sampler { return &Sampler{collectors(host), notice} }

// Sources describes all sources that points may belong to, in the order of display. The tag kind of a source is cpu,
// memory, load, disk, network or processes; its name is <host>/<kind>. NodeID is the key of the node that the source
// belongs to, as in package hostgraph.
func (s *Sampler) Sources() (sources []client.Source) {
	for _, c := range s.collectors {
		sources = append(sources, c.source)
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
		c.begin(began)
		if err := c.read(ctx, c); err != nil && !c.noticed {
			c.noticed = true
			s.notice(c.source.Tags["kind"] + ": not measured here: " + err.Error())
		}
		c.notBefore = time.Now().Add(min(pauseFactor*time.Since(began), maxPause))
		for id, value := range c.values {
			p := client.Point{Source: c.source.Name, Metric: id.metric, Timestamp: at.UnixMilli(), Value: value}
			if id.tag != "" {
				p.Tags = map[string]string{id.tag: id.key}
			}
			points = append(points, p)
		}
	}
	return points
}

// HostName returns this machine's name as used in the names of its sources.
func HostName() string {
	name, _ := os.Hostname() // "" if it is unknown
	return cleanName(cmp.Or(name, "localhost"))
}

// cleanName returns a name fit to be a tag: valid UTF-8, printable, trimmed, at most 64 characters, never empty.
func cleanName(name string) string { return cmp.Or(CleanText(name, maxName), "unnamed") }

// CleanText returns the text printable, trimmed and at most limit characters long.
func CleanText(text string, limit int) string {
	return strings.TrimSpace(fmt.Sprintf("%.*s", limit, output.Printable(strings.TrimSpace(text))))
}

var (
	// longNumber is a number that is an id (a pid, a port) and not a part of a name, as in python3.11 or x264.
	longNumber         = regexp.MustCompile(`[0-9]{4,}`)
	threadName         = regexp.MustCompile(`^([^/]+)/.*`)
	containerInterface = regexp.MustCompile(`^(?:(br)-|(veth|cali|cni|flannel|lxc|tap|vnet|ifb)).*`)
)

// programName returns the name that the instances of a program share: kernel threads lose what follows the slash
// (kworker/0:1-events is kworker), and long numbers become a star (worker-18231 is worker-*).
func programName(command string) string {
	name := strings.TrimSpace(threadName.ReplaceAllString(cleanName(command), "$1"))
	return longNumber.ReplaceAllString(name, "*")
}

// interfaceName returns the series name of a network interface. Those that container engines create and remove, each
// time under a new name, are summed by prefix.
func interfaceName(name string) string {
	return containerInterface.ReplaceAllString(cleanName(name), "$1$2*")
}
