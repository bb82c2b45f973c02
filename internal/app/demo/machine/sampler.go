// Package machine measures the machine it runs on. A [Sampler] reads processor, memory, load, disks, network,
// temperatures and the busiest processes as Livegraph sources. A [Surveyor] lists what the machine consists of and what
// runs on it as an [Inventory].
//
// What a machine does not have (a container without sensors) is reported once and left out. The number of series is
// bounded: names that the machine creates as it runs are folded into stable ones.
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
	kind, text string
	metrics    []client.Metric
	read       func(ctx context.Context, c *collector) error // adds the values of a round

	notBefore        time.Time // the next round
	values           map[series]float64
	keys             map[string]bool    // of all rounds
	before, counters map[string]float64 // of the last round and of this one
	last, now        time.Time
}

// series identifies a value within a source. Without a tag, tag and key are "".
type series struct{ metric, tag, key string }

func (c *collector) begin(now time.Time) {
	if c.keys == nil {
		c.keys = map[string]bool{}
	}
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

// rate adds a counter's growth per second, scaled. The first round, a new counter and one that was reset add nothing.
func (c *collector) rate(metric, tag, key, counter string, value, scale float64) {
	counter += "\x00" + metric
	c.counters[counter] = value
	elapsed := c.now.Sub(c.last).Seconds()
	if before, ok := c.before[counter]; ok && value >= before && elapsed > 0 {
		c.add(metric, tag, key, (value-before)/elapsed*scale)
	}
}

// Sampler runs the collectors. It is not safe for concurrent use.
type Sampler struct {
	host       string
	collectors []*collector
	notice     func(string)
	noticed    map[string]bool
}

// NewSampler creates a sampler for a host's name. It calls notice once for each thing that cannot be measured.
func NewSampler(host string, notice func(string)) *Sampler {
	return &Sampler{host: host, collectors: collectors(), notice: notice, noticed: map[string]bool{}}
}

// Sources describes all sources that points may belong to, in the order of display. The tag kind of a source is cpu,
// memory, load, disk, network, temperature or processes; its name is <host>/<kind>.
func (s *Sampler) Sources() (sources []client.Source) {
	for _, c := range s.collectors {
		sources = append(sources, client.Source{
			Name: s.host + "/" + c.kind, Description: c.text, Metrics: c.metrics,
			Tags: map[string]string{"host": s.host, "kind": c.kind},
		})
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
		if err := c.read(ctx, c); err != nil {
			text := c.kind + ": not measured here: " + err.Error()
			if !s.noticed[text] && len(s.noticed) < maxKeys {
				s.noticed[text] = true
				s.notice(text)
			}
		}
		c.notBefore = time.Now().Add(min(pauseFactor*time.Since(began), maxPause))
		for id, value := range c.values {
			p := client.Point{Source: s.host + "/" + c.kind, Metric: id.metric, Timestamp: at.UnixMilli(), Value: value}
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
	return longNumber.ReplaceAllString(threadName.ReplaceAllString(cleanName(command), "$1"), "*")
}

// interfaceName returns the series name of a network interface. Those that container engines create and remove, each
// time under a new name, are summed by prefix.
func interfaceName(name string) string {
	return containerInterface.ReplaceAllString(cleanName(name), "$1$2*")
}

// Size returns bytes with a binary prefix.
func Size[N uint64 | float64](bytes N) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	exponent := min(int(math.Log2(max(float64(bytes), 1)))/10, len(units)-1)
	return fmt.Sprintf("%.4g %s", math.Ldexp(float64(bytes), -10*exponent), units[exponent])
}
