package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/app/output"
)

const (
	maxLatencies  = 120 // number of durations for a percentile
	maxHistory    = 60  // values of the sparkline
	cellWidth     = 36  // of a value or a program
	cellGap       = 4
	maxProgramRow = 5
)

// status is what the demo has done so far and what was measured last.
type status struct {
	address  string
	up       time.Duration
	sent     int64 // points
	waiting  int64 // points that were measured and not sent yet
	rejected int64
	dropped  int64
	ingest   latencies // of requests
	visible  latencies // after the answer to an ingest
	trouble  string    // "" when all is well
	values   [][]value // of each of the headlines
	programs []program // busiest first
	cpu      []float64 // percent, oldest first
	graph    graphStatus
}

type value struct {
	label  string
	unit   string
	number float64
}

type program struct {
	name     string
	cpu, rss float64
}

type graphStatus struct {
	host         string // the machine's node; "": not in the graph yet
	nodes, edges int
	changes      int               // by this demo
	nodeOf       map[string]string // node by the name of the source that belongs to it
}

// latencies are the last measured durations.
type latencies []time.Duration

func (l *latencies) add(d time.Duration) {
	*l = append(*l, d)
	*l = (*l)[max(0, len(*l)-maxLatencies):]
}

// p95 returns the 95th percentile, by nearest rank. There must be a duration.
func (l latencies) p95() time.Duration { return slices.Sorted(slices.Values(l))[(len(l)*95+99)/100-1] }

// headlines lists what the view shows, in its order. %s in a label is the tag's value.
var headlines = []struct{ kind, metric, label, unit string }{
	{"cpu", machine.CPUUsage, "cpu", "percent"},
	{"cpu", "iowait_percent", "cpu waiting for disk", "percent"},
	{"memory", machine.MemoryUsed, "memory", "percent"},
	{"memory", "available_bytes", "memory available", "bytes"},
	{"load", "load1", "load, 1 minute", ""},
	{"temperature", "celsius", "%s", "celsius"},
	{"disk", "used_percent", "disk %s", "percent"},
	{"disk", "read_bytes_per_second", "%s read", "bytes/s"},
	{"disk", "written_bytes_per_second", "%s written", "bytes/s"},
	{"network", "received_bytes_per_second", "%s received", "bytes/s"},
	{"network", "sent_bytes_per_second", "%s sent", "bytes/s"},
}

// setLatest stores the values of a round. It keeps those that the round does not have, because a collector was late.
func (s *status) setLatest(round []client.Point) {
	values := make([][]value, len(headlines))
	copy(values, s.values)
	for i, h := range headlines {
		var found []value
		for _, p := range round {
			if p.Metric != h.metric || !strings.HasSuffix(p.Source, "/"+h.kind) {
				continue
			}
			v := value{h.label, h.unit, p.Value}
			for _, tag := range p.Tags {
				v.label = strings.Replace(h.label, "%s", tag, 1)
			}
			found = append(found, v)
			if p.Metric == machine.CPUUsage {
				s.cpu = append(s.cpu, p.Value)
				s.cpu = s.cpu[max(0, len(s.cpu)-maxHistory):]
			}
		}
		if len(found) > 0 {
			slices.SortFunc(found, func(a, b value) int { return cmp.Compare(a.label, b.label) })
			values[i] = found
		}
	}
	s.values = values
	if programs := busiest(round); len(programs) > 0 {
		s.programs = programs
	}
}

// busiest returns the programs of a round, busiest first.
func busiest(round []client.Point) []program {
	programs := map[string]program{}
	for _, point := range round {
		name := point.Tags["process"]
		p := programs[name]
		p.name = name
		switch point.Metric {
		case machine.ProcessCPU:
			p.cpu = point.Value
		case machine.ProcessRSS:
			p.rss = point.Value
		default:
			continue
		}
		programs[name] = p
	}
	return slices.SortedFunc(maps.Values(programs), func(a, b program) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.rss, a.rss), cmp.Compare(a.name, b.name))
	})
}

// render renders the status in at most height lines of at most width characters.
func (s *status) render(width, height int) []string {
	title := "Livegraph demo  " + s.address + "  up " + duration(s.up) + "  (Ctrl-C ends it)"
	lines := append([]string{title, ""}, s.table()...)
	if len(s.values) > 0 {
		var cells [][2]string
		for _, v := range slices.Concat(s.values...) {
			cells = append(cells, [2]string{v.label, quantity(v.number, v.unit)})
		}
		lines = append(append(lines, "", "latest values"), grid(cells, width)...)
	}
	if len(s.programs) > 0 {
		var cells [][2]string
		for _, p := range s.programs {
			cells = append(cells, [2]string{p.name, fmt.Sprintf("%8s %9s", quantity(p.cpu, "percent"), machine.Size(p.rss))})
		}
		rows := grid(cells, width)
		lines = append(append(lines, "", "busiest programs"), rows[:min(len(rows), maxProgramRow)]...)
	}
	lines = lines[:min(len(lines), height)]
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%.*s", width, output.Printable(line))
	}
	return lines
}

// table returns the part above the values.
func (s *status) table() (lines []string) {
	row := func(label string, fields ...string) {
		lines = append(lines, fmt.Sprintf("%-9s%s", label, strings.Join(fields, "   ")))
	}
	rate := float64(s.sent) / max(1, s.up.Seconds())
	row("points", thousands(s.sent)+" sent", fmt.Sprintf("%.0f/s", rate), thousands(s.waiting)+" waiting",
		thousands(s.rejected)+" rejected", thousands(s.dropped)+" dropped")
	for _, l := range []struct {
		label, what string
		latencies
	}{{"ingest", " now", s.ingest}, {"visible", " after the answer", s.visible}} {
		if n := len(l.latencies); n > 0 {
			row(l.label, duration(l.latencies[n-1])+l.what, duration(l.p95())+" p95")
		} else {
			row(l.label, "not measured yet")
		}
	}
	if g := s.graph; g.nodes > 0 {
		row("graph", thousands(g.nodes)+" nodes", thousands(g.edges)+" edges", thousands(g.changes)+" changes made")
	}
	if n := len(s.cpu); n > 0 {
		row("cpu", fmt.Sprintf("%7s  %s", quantity(s.cpu[n-1], "percent"), sparkline(s.cpu)))
	}
	if s.trouble != "" {
		row("trouble", s.trouble)
	}
	return lines
}

// summary returns the status as one line.
func (s *status) summary() string {
	text := fmt.Sprintf("The demo ran for %s and sent %s points; %s were rejected, %s dropped, %s wait.",
		duration(s.up), thousands(s.sent), thousands(s.rejected), thousands(s.dropped), thousands(s.waiting))
	if len(s.visible) > 0 {
		text += fmt.Sprintf(" Ingest is answered in %s (p95), and points are visible %s (p95) after the answer.",
			duration(s.ingest.p95()), duration(s.visible.p95()))
	}
	if s.graph.nodes > 0 {
		text += fmt.Sprintf(" The machine's graph has %s nodes and %s edges, of %s changes.", thousands(s.graph.nodes),
			thousands(s.graph.edges), thousands(s.graph.changes))
	}
	if s.trouble != "" {
		text += " Last trouble: " + s.trouble + "."
	}
	return output.Printable(text)
}

// grid lays cells out in columns, each with its label on the left and its value on the right.
func grid(cells [][2]string, width int) (lines []string) {
	columns := max(1, (width+cellGap)/(cellWidth+cellGap))
	for row := range slices.Chunk(cells, columns) {
		var texts []string
		for _, c := range row {
			free := cellWidth - utf8.RuneCountInString(c[1]) - 1
			texts = append(texts, fmt.Sprintf("%-*.*s %s", free, free, output.Printable(c[0]), c[1]))
		}
		lines = append(lines, strings.Join(texts, strings.Repeat(" ", cellGap)))
	}
	return lines
}

// quantity returns a number with its unit, short.
func quantity(n float64, unit string) string {
	switch unit {
	case "percent":
		return fmt.Sprintf("%.1f %%", n)
	case "bytes":
		return machine.Size(n)
	case "bytes/s":
		return machine.Size(n) + "/s"
	case "celsius":
		return fmt.Sprintf("%.0f °C", n)
	}
	return fmt.Sprintf("%.2f", n)
}

// duration returns a duration short: 3.1ms, 120ms, 4.2s, 3m21s.
func duration(d time.Duration) string {
	for _, unit := range []time.Duration{time.Minute, time.Second, 10 * time.Millisecond} {
		if d >= unit {
			return d.Round(min(unit/10, time.Second)).String()
		}
	}
	return d.Round(100 * time.Microsecond).String()
}

// thousands returns a count with commas.
func thousands[N int | int64](n N) string { return message.NewPrinter(language.English).Sprint(n) }

// sparkline renders values, one per character, on a scale from zero to the highest value but at least 10, so that the
// noise of an idle machine looks flat.
func sparkline(values []float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	top := max(10, slices.Max(values))
	line := make([]rune, len(values))
	for i, v := range values {
		line[i] = levels[min(max(int(v/top*float64(len(levels))), 0), len(levels)-1)]
	}
	return string(line)
}
