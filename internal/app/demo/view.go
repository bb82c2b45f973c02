package demo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
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
	linesInterval = 10 * time.Second // between two lines if the view is not drawn in place
)

// english formats counts with commas.
var english = message.NewPrinter(language.English)

// status is what the demo has done so far and what was measured last.
type status struct {
	address                          string
	up                               time.Duration
	sent, waiting, rejected, dropped int       // points; those that wait were measured and not sent yet
	ingest                           latencies // of requests
	visible                          latencies // after the answer to an ingest
	trouble                          string    // "" when all is well
	values                           [][]value // of each of the headlines
	programs                         []program // busiest first
	cpu                              []float64 // percent, oldest first
	nodes, edges, changes            int       // of the graph; changes by this demo

	host   string            // the machine's node; "": not in the graph yet
	nodeOf map[string]string // node by the name of the source that belongs to it
}

type value struct {
	label, unit string
	number      float64
}

type program struct {
	name     string
	cpu, rss float64
}

// latencies are the last measured durations.
type latencies []time.Duration

func (l *latencies) add(d time.Duration) { *l = last(append(*l, d), maxLatencies) }

// p95 returns the 95th percentile, by nearest rank. There must be a duration.
func (l latencies) p95() time.Duration { return slices.Sorted(slices.Values(l))[(len(l)*95+99)/100-1] }

// text returns the last duration, described by what, and the percentile.
func (l latencies) text(what string) string {
	if len(l) == 0 {
		return "not measured yet"
	}
	return duration(l[len(l)-1]) + what + "   " + duration(l.p95()) + " p95"
}

// headlines lists what the view shows, in its order: the kind of a source and a metric, a label, in which %s is the
// tag's value, and a unit.
var headlines = []struct{ metric, label, unit string }{
	{"cpu " + machine.CPUUsage, "cpu", "percent"},
	{"cpu iowait_percent", "cpu waiting for disk", "percent"},
	{"memory " + machine.MemoryUsed, "memory", "percent"},
	{"memory available_bytes", "memory available", "bytes"},
	{"load load1", "load, 1 minute", ""},
	{"temperature celsius", "%s", "celsius"},
	{"disk used_percent", "disk %s", "percent"},
	{"disk read_bytes_per_second", "%s read", "bytes/s"},
	{"disk written_bytes_per_second", "%s written", "bytes/s"},
	{"network received_bytes_per_second", "%s received", "bytes/s"},
	{"network sent_bytes_per_second", "%s sent", "bytes/s"},
}

// setLatest stores the values of a round. It keeps those that the round does not have, because a collector was late.
func (s *status) setLatest(round []client.Point) {
	latest := map[string]map[string]float64{} // by kind and metric, then by the tag's value; "": no tag
	for _, p := range round {
		metric, tag := path.Base(p.Source)+" "+p.Metric, strings.Join(slices.Collect(maps.Values(p.Tags)), "")
		if latest[metric] == nil {
			latest[metric] = map[string]float64{}
		}
		latest[metric][tag] = p.Value
	}
	values := make([][]value, len(headlines)) // current shares the old list
	copy(values, s.values)
	for i, h := range headlines {
		if len(latest[h.metric]) > 0 {
			values[i] = nil
		}
		for _, tag := range slices.Sorted(maps.Keys(latest[h.metric])) {
			values[i] = append(values[i], value{strings.Replace(h.label, "%s", tag, 1), h.unit, latest[h.metric][tag]})
		}
	}
	s.values = values
	for _, percent := range latest["cpu "+machine.CPUUsage] {
		s.cpu = last(append(s.cpu, percent), maxHistory)
	}
	if load := latest["processes "+machine.ProcessCPU]; len(load) > 0 {
		s.programs = nil
		for name, cpu := range load {
			s.programs = append(s.programs, program{name, cpu, latest["processes "+machine.ProcessRSS][name]})
		}
		slices.SortFunc(s.programs, func(a, b program) int { // busiest first
			return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.rss, a.rss), cmp.Compare(a.name, b.name))
		})
	}
}

// last returns the last values, at most limit of them.
func last[T any](values []T, limit int) []T { return values[max(0, len(values)-limit):] }

// render renders the status in at most height lines of at most width characters.
func (s *status) render(width, height int) []string {
	title := "Livegraph demo  " + s.address + "  up " + duration(s.up) + "  (Ctrl-C ends it)"
	lines := append([]string{title, ""}, s.table()...)
	section := func(title string, cells [][2]string, limit int) {
		if rows := grid(cells, width); len(rows) > 0 {
			lines = append(append(lines, "", title), rows[:min(len(rows), limit)]...)
		}
	}
	var values, programs [][2]string
	for _, v := range slices.Concat(s.values...) {
		values = append(values, [2]string{v.label, quantity(v.number, v.unit)})
	}
	for _, p := range s.programs {
		load := fmt.Sprintf("%8s %9s", quantity(p.cpu, "percent"), machine.Size(p.rss))
		programs = append(programs, [2]string{p.name, load})
	}
	section("latest values", values, height)
	section("busiest programs", programs, maxProgramRow)
	lines = lines[:min(len(lines), height)]
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%.*s", width, output.Printable(line))
	}
	return lines
}

// table returns the part above the values.
func (s *status) table() (lines []string) {
	row := func(label, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-9s", label)+english.Sprintf(format, args...))
	}
	row("points", "%d sent   %s/s   %d waiting   %d rejected   %d dropped", s.sent,
		fmt.Sprintf("%.0f", float64(s.sent)/max(1, s.up.Seconds())), s.waiting, s.rejected, s.dropped)
	row("ingest", "%s", s.ingest.text(" now"))
	row("visible", "%s", s.visible.text(" after the answer"))
	if s.nodes > 0 {
		row("graph", "%d nodes   %d edges   %d changes made", s.nodes, s.edges, s.changes)
	}
	if n := len(s.cpu); n > 0 {
		row("cpu", "%7s  %s", quantity(s.cpu[n-1], "percent"), sparkline(s.cpu))
	}
	if s.trouble != "" {
		row("trouble", "%s", s.trouble)
	}
	return lines
}

// summary returns the status as one line.
func (s *status) summary() string {
	text := english.Sprintf("The demo ran for %s and sent %d points; %d were rejected, %d dropped, %d wait.",
		duration(s.up), s.sent, s.rejected, s.dropped, s.waiting)
	if len(s.visible) > 0 {
		text += fmt.Sprintf(" Ingest is answered in %s (p95), and points are visible %s (p95) after the answer.",
			duration(s.ingest.p95()), duration(s.visible.p95()))
	}
	if s.nodes > 0 {
		text += english.Sprintf(" The machine's graph has %d nodes and %d edges, of %d changes.", s.nodes, s.edges, s.changes)
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
	case "bytes", "bytes/s":
		return machine.Size(n) + strings.TrimPrefix(unit, "bytes")
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

// sparkline renders a character for each value, from zero to the highest one or 10, so that an idle machine looks flat.
func sparkline(values []float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	top := max(10, slices.Max(values))
	line := make([]rune, len(values))
	for i, v := range values {
		line[i] = levels[min(max(int(v/top*float64(len(levels))), 0), len(levels)-1)]
	}
	return string(line)
}

// display shows the status, drawn in place below the notes, or as a line at times.
type display struct {
	out  io.Writer
	size func() (width, height int) // of the terminal; nil: lines

	mu      sync.Mutex
	last    []string  // lines on the terminal
	printed time.Time // last line
	closed  bool
}

// newDisplay returns a display that draws in place on a terminal, unless plain is true.
func newDisplay(out io.Writer, plain bool) *display {
	d := &display{out: out, printed: time.Now()}
	if file, ok := out.(*os.File); ok && output.IsTerminal(out) && !plain && os.Getenv("TERM") != "dumb" {
		d.size = func() (int, int) {
			width, height, _ := term.GetSize(int(file.Fd())) // not positive if it is not known
			return cmp.Or(max(width, 0), 80), cmp.Or(max(height, 0), 24)
		}
	}
	return d
}

// ANSI control sequences, ECMA-48 and DEC private modes.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\r\x1b[J"
)

func (d *display) refresh(s *status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.size != nil:
		width, height := d.size()
		d.draw("", s.render(width, height-1)) // the last line stays free for the cursor
	case time.Since(d.printed) >= linesInterval:
		d.printed = time.Now()
		_, _ = io.WriteString(d.out, s.summary()+"\n")
	}
}

// note prints a text that stays, without control characters.
func (d *display) note(text string) {
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, row := range rows {
		rows[i] = output.Printable(row) + "\n"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if text = strings.Join(rows, ""); d.size != nil && !d.closed {
		d.draw(text, d.last)
		return
	}
	_, _ = io.WriteString(d.out, text)
}

// draw writes above over the old view and the view below it, in one write so that nothing flickers.
func (d *display) draw(above string, view []string) {
	up := ""
	if len(d.last) > 0 {
		up = fmt.Sprintf("\x1b[%dA", len(d.last))
	}
	d.last = view
	_, _ = io.WriteString(d.out, hideCursor+up+eraseBelow+above+wrapOff+strings.Join(append(view, ""), "\n")+wrapOn)
}

// close leaves the last view and the cursor below it.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size != nil && !d.closed {
		d.closed = true
		_, _ = io.WriteString(d.out, eraseBelow+showCursor)
	}
}
