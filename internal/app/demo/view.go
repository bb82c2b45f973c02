package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	labelWidth   = 9  // of the table's first column
	valueCell    = 36 // least width of a latest value
	processCell  = 36 // least width of a process
	mostValues   = 18
	mostPrograms = 5 // rows
	narrowest    = 20
	widestSpark  = 60
)

// view is one moment of the demo: all that is drawn of it.
type view struct {
	address  string
	up       time.Duration
	sent     int64
	rate     float64 // points a second
	pending  int
	rejected int64
	dropped  int64
	retries  int64
	ingest   latency
	fresh    latency
	lag      time.Duration
	lagKnown bool
	trouble  string // "" when all is well
	retryIn  time.Duration
	shown    shown
	graph    drawing
}

// snapshot takes the moment now.
func (s *stats) snapshot(now time.Time, address string, pending int, dropped int64) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := view{
		address: address, up: now.Sub(s.began), sent: s.sent, rate: s.rate(now), pending: pending,
		rejected: s.rejected, dropped: dropped + s.unsent, retries: s.retries,
		ingest: s.ingest.latency(), fresh: s.fresh.latency(), shown: s.shown, graph: s.graph,
		lagKnown: !s.shown.newest.IsZero(), lag: max(0, now.Sub(s.shown.newest)),
	}
	switch {
	case s.waiting != "":
		v.trouble, v.retryIn = s.waiting, max(0, s.waitUntil.Sub(now))
	case s.unread != "":
		v.trouble = "reading back: " + s.unread
	case s.refusal != "":
		v.trouble = "last refusal: " + s.refusal
	}
	v.shown.cpu = append([]float64(nil), s.shown.cpu...) // the goroutine that reads goes on writing there
	return v
}

// palette is how a terminal can be written to.
type palette struct {
	spark  []rune
	degree string
}

var (
	unicodePalette = palette{spark: []rune("▁▂▃▄▅▆▇█"), degree: "°C"}
	asciiPalette   = palette{spark: []rune("_.-~=+*#"), degree: "C"}
)

// render draws the view in lines of at most width characters, and at most
// height lines, the programs giving way first.
func (v *view) render(width, height int, p palette) []string {
	width = max(width, narrowest)
	lines := []string{"Livegraph demo  " + v.address + "  up " + duration(v.up), ""}
	lines = append(lines, v.table(width, p)...)
	if len(v.shown.values) > 0 {
		lines = append(lines, "", "latest values, read back from the API")
		cells := make([]string, 0, mostValues)
		columns := columnsOf(width, valueCell)
		for _, value := range v.shown.values[:min(len(v.shown.values), mostValues)] {
			cells = append(cells, cell(value.label, quantity(value.number, value.unit, p), cellWidth(width, columns)))
		}
		lines = append(lines, grid(cells, columns)...)
	}
	footer := "Ctrl-C ends the demo; what it sent stays."
	if rows := min(mostPrograms, height-len(lines)-4); rows > 0 && len(v.shown.processes) > 0 {
		lines = append(lines, "", "busiest programs")
		lines = append(lines, v.programs(width, rows, p)...)
	}
	lines = append(lines, "", footer)
	if height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(clip(line, width), " ")
	}
	return lines
}

// table is the part above the values: what was sent and how it fares.
func (v *view) table(width int, p palette) []string {
	lines := flow("points", []string{
		thousands(v.sent) + " sent", fmt.Sprintf("%.0f/s", v.rate), thousands(int64(v.pending)) + " waiting",
		thousands(v.rejected) + " rejected", thousands(v.dropped) + " dropped",
	}, width)
	lines = append(lines, flow("ingest", v.latency(v.ingest, "now", fmt.Sprintf("%d retries", v.retries)), width)...)
	lines = append(lines, flow("visible", v.latency(v.fresh, "after the answer", ""), width)...)
	lag := "nothing read back yet"
	if v.lagKnown {
		lag = duration(v.lag) + " behind now"
	}
	lines = append(lines, flow("lag", []string{lag}, width)...)
	if v.graph.nodes > 0 {
		lines = append(lines, flow("graph", []string{
			thousands(int64(v.graph.nodes)) + " nodes", thousands(int64(v.graph.edges)) + " edges",
			thousands(v.graph.changes) + " changes made",
		}, width)...)
	}
	if history := v.shown.cpu; len(history) > 0 {
		room := min(width-labelWidth-len("  100.0 %"), widestSpark)
		lines = append(lines, flow("cpu", []string{
			sparkline(history, room, p.spark) + "  " + quantity(history[len(history)-1], "percent", p),
		}, width)...)
	}
	if v.trouble != "" {
		fields := []string{v.trouble}
		if v.retryIn > 0 {
			fields = append(fields, "again in "+duration(v.retryIn))
		}
		lines = append(lines, flow("trouble", fields, width)...)
	}
	return lines
}

func (*view) latency(l latency, what, more string) []string {
	if !l.known {
		return []string{"not measured yet"}
	}
	fields := []string{duration(l.last) + " " + what, duration(l.p95) + " p95"}
	if more != "" {
		fields = append(fields, more)
	}
	return fields
}

// programs is the grid of the busiest programs, in rows rows at most.
func (v *view) programs(width, rows int, p palette) []string {
	columns := columnsOf(width, processCell)
	var cells []string
	for _, row := range v.shown.processes[:min(len(v.shown.processes), rows*columns)] {
		numbers := fmt.Sprintf("%8s %9s", quantity(row.cpu, "percent", p), quantity(row.rss, "bytes", p))
		cells = append(cells, cell(row.name, numbers, cellWidth(width, columns)))
	}
	return grid(cells, columns)
}

// progress is the view in one line, for output that is no terminal.
func (v *view) progress(p palette) string {
	parts := []string{fmt.Sprintf("%s points sent (%.0f/s)", thousands(v.sent), v.rate)}
	if v.ingest.known {
		parts = append(parts, "ingest p95 "+duration(v.ingest.p95))
	}
	if v.fresh.known {
		parts = append(parts, "visible p95 "+duration(v.fresh.p95)+" after the answer")
	}
	if v.lagKnown {
		parts = append(parts, "lag "+duration(v.lag))
	}
	if v.graph.nodes > 0 {
		parts = append(parts, fmt.Sprintf(
			"graph of %s nodes and %s edges", thousands(int64(v.graph.nodes)), thousands(int64(v.graph.edges)),
		))
	}
	if n := len(v.shown.cpu); n > 0 {
		parts = append(parts, "cpu "+quantity(v.shown.cpu[n-1], "percent", p))
	}
	for _, count := range []struct {
		n    int64
		what string
	}{{int64(v.pending), "waiting"}, {v.rejected, "rejected"}, {v.dropped, "dropped"}} {
		if count.n > 0 {
			parts = append(parts, thousands(count.n)+" "+count.what)
		}
	}
	if v.trouble != "" {
		parts = append(parts, v.trouble)
	}
	return printable(strings.Join(parts, ", "))
}

// summary is what is said at the end.
func (v *view) summary() string {
	text := fmt.Sprintf("The demo ran for %s and sent %s points; %s were rejected, %s dropped.",
		duration(v.up), thousands(v.sent), thousands(v.rejected), thousands(v.dropped+int64(v.pending)))
	if v.ingest.known {
		text += fmt.Sprintf(" Ingest was answered in %s (p95)", duration(v.ingest.p95))
		if v.fresh.known {
			text += fmt.Sprintf(", and its points were visible %s (p95) after the answer", duration(v.fresh.p95))
		}
		text += "."
	}
	if v.graph.nodes > 0 {
		text += fmt.Sprintf(" The machine's graph has %s nodes and %s edges, of %s changes.",
			thousands(int64(v.graph.nodes)), thousands(int64(v.graph.edges)), thousands(v.graph.changes))
	}
	if v.trouble != "" {
		text += " Last trouble: " + v.trouble + "."
	}
	return text + " What it sent stays."
}

// flow lays fields out after a label, going on in the next line when one is full.
func flow(label string, fields []string, width int) []string {
	const gap = "   "
	indent := strings.Repeat(" ", labelWidth)
	line := fmt.Sprintf("%-*s", labelWidth, label)
	var lines []string
	for i, field := range fields {
		field = printable(field)
		if i > 0 {
			if utf8.RuneCountInString(line+gap+field) > width {
				lines = append(lines, line)
				line = indent + field
				continue
			}
			line += gap
		}
		line += field
	}
	return append(lines, line)
}

const cellGap = 4

func columnsOf(width, least int) int { return max(1, (width+cellGap)/(least+cellGap)) }

func cellWidth(width, columns int) int { return (width - (columns-1)*cellGap) / columns }

// cell sets a label to the left and a value to the right.
func cell(label, value string, width int) string {
	room := max(1, width-utf8.RuneCountInString(value)-1)
	label = clip(printable(label), room)
	return label + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(label)-utf8.RuneCountInString(value))) + value
}

// grid sets cells in columns, filled row by row.
func grid(cells []string, columns int) []string {
	var lines []string
	for len(cells) > 0 {
		n := min(columns, len(cells))
		lines = append(lines, strings.Join(cells[:n], strings.Repeat(" ", cellGap)))
		cells = cells[n:]
	}
	return lines
}

// clip shortens a line to width characters.
func clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)
	return string(runes[:max(0, width-1)]) + "~"
}

// printable replaces what would move the cursor or change the terminal: names
// come out of the workspace, and anybody who may write there chose them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
