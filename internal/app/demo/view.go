package demo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	labelWidth    = 9  // of the table's first column
	cellMin       = 36 // width of a value or a program
	cellGap       = 4
	maxValues     = 18
	maxRows       = 5 // of programs
	widthMin      = 20
	maxSparkWidth = 60
)

// view is a snapshot of the demo.
type view struct {
	address   string
	up        time.Duration
	sent      int64
	rate      float64 // points a second
	pending   int
	rejected  int64
	dropped   int64
	retries   int64
	ingest    latency
	freshness latency
	lag       time.Duration
	lagKnown  bool
	trouble   string // "" when all is well
	retryIn   time.Duration
	latest    latestValues
	graph     graphSize
}

// palette is the set of characters that a terminal can show.
type palette struct {
	spark  []rune
	degree string
}

var (
	unicodePalette = palette{spark: []rune("▁▂▃▄▅▆▇█"), degree: "°C"}
	asciiPalette   = palette{spark: []rune("_.-~=+*#"), degree: "C"}
)

// render renders the view in at most height lines of at most width characters. It shortens the programs first.
func (v *view) render(width, height int, p palette) []string {
	width = max(width, widthMin)
	lines := append([]string{"Livegraph demo  " + v.address + "  up " + duration(v.up), ""}, v.table(width, p)...)
	if len(v.latest.values) > 0 {
		var cells [][2]string
		for _, value := range v.latest.values[:min(len(v.latest.values), maxValues)] {
			cells = append(cells, [2]string{value.label, quantity(value.number, value.unit, p)})
		}
		lines = append(append(lines, "", "latest values, read back from the API"), grid(cells, width, maxValues)...)
	}
	if rows := min(maxRows, height-len(lines)-4); rows > 0 && len(v.latest.processes) > 0 {
		var cells [][2]string
		for _, program := range v.latest.processes {
			cells = append(cells, [2]string{program.name, fmt.Sprintf(
				"%8s %9s", quantity(program.cpu, "percent", p), quantity(program.rss, "bytes", p),
			)})
		}
		lines = append(append(lines, "", "busiest programs"), grid(cells, width, rows)...)
	}
	lines = append(lines, "", "Ctrl-C ends the demo; what it sent stays.")
	if height > 0 {
		lines = lines[:min(len(lines), height)]
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(clip(line, width), " ")
	}
	return lines
}

// table returns the part above the values: statistics of the ingest.
func (v *view) table(width int, p palette) (lines []string) {
	row := func(label string, fields ...string) { lines = append(lines, wrapFields(label, fields, width)...) }
	row("points", thousands(v.sent)+" sent", fmt.Sprintf("%.0f/s", v.rate), thousands(int64(v.pending))+" waiting",
		thousands(v.rejected)+" rejected", thousands(v.dropped)+" dropped")
	for _, l := range []struct {
		label, what, more string
		latency
	}{
		{"ingest", "now", fmt.Sprintf("%d retries", v.retries), v.ingest},
		{"visible", "after the answer", "", v.freshness},
	} {
		switch {
		case !l.known:
			row(l.label, "not measured yet")
		case l.more == "":
			row(l.label, duration(l.last)+" "+l.what, duration(l.p95)+" p95")
		default:
			row(l.label, duration(l.last)+" "+l.what, duration(l.p95)+" p95", l.more)
		}
	}
	if v.lagKnown {
		row("lag", duration(v.lag)+" behind now")
	}
	if v.graph.nodes > 0 {
		row("graph", thousands(int64(v.graph.nodes))+" nodes", thousands(int64(v.graph.edges))+" edges",
			thousands(v.graph.changes)+" changes made")
	}
	if history := v.latest.cpu; len(history) > 0 {
		free := min(width-labelWidth-len("  100.0 %"), maxSparkWidth)
		row("cpu", sparkline(history, free, p.spark)+"  "+quantity(history[len(history)-1], "percent", p))
	}
	switch {
	case v.trouble != "" && v.retryIn > 0:
		row("trouble", v.trouble, "again in "+duration(v.retryIn))
	case v.trouble != "":
		row("trouble", v.trouble)
	}
	return lines
}

// progress returns the view as one line, for output that is not a terminal.
func (v *view) progress(p palette) string {
	parts := []string{fmt.Sprintf("%s points sent (%.0f/s)", thousands(v.sent), v.rate)}
	add := func(known bool, format string, args ...any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(v.ingest.known, "ingest p95 %s", duration(v.ingest.p95))
	add(v.freshness.known, "visible p95 %s after the answer", duration(v.freshness.p95))
	add(v.lagKnown, "lag %s", duration(v.lag))
	add(v.graph.nodes > 0, "graph of %s nodes and %s edges", thousands(int64(v.graph.nodes)),
		thousands(int64(v.graph.edges)))
	if n := len(v.latest.cpu); n > 0 {
		add(true, "cpu %s", quantity(v.latest.cpu[n-1], "percent", p))
	}
	add(v.pending > 0, "%s waiting", thousands(int64(v.pending)))
	add(v.rejected > 0, "%s rejected", thousands(v.rejected))
	add(v.dropped > 0, "%s dropped", thousands(v.dropped))
	add(v.trouble != "", "%s", v.trouble)
	return printable(strings.Join(parts, ", "))
}

// summary returns the text that is printed at the end.
func (v *view) summary() string {
	text := fmt.Sprintf("The demo ran for %s and sent %s points; %s were rejected, %s dropped.",
		duration(v.up), thousands(v.sent), thousands(v.rejected), thousands(v.dropped+int64(v.pending)))
	if v.ingest.known {
		text += fmt.Sprintf(" Ingest was answered in %s (p95)", duration(v.ingest.p95))
		if v.freshness.known {
			text += fmt.Sprintf(", and its points were visible %s (p95) after the answer", duration(v.freshness.p95))
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

// wrapFields writes fields after a label and wraps them into lines of at most width characters.
func wrapFields(label string, fields []string, width int) (lines []string) {
	const gap = "   "
	line := fmt.Sprintf("%-*s", labelWidth, label)
	for i, field := range fields {
		field = printable(field)
		switch {
		case i == 0:
			line += field
		case utf8.RuneCountInString(line+gap+field) > width:
			lines = append(lines, line)
			line = strings.Repeat(" ", labelWidth) + field
		default:
			line += gap + field
		}
	}
	return append(lines, line)
}

// grid lays cells out in columns, each with its label on the left and its value on the right.
func grid(cells [][2]string, width, rows int) (lines []string) {
	columns := max(1, (width+cellGap)/(cellMin+cellGap))
	cellWidth := (width - (columns-1)*cellGap) / columns
	for i, c := range cells[:min(len(cells), rows*columns)] {
		free := cellWidth - utf8.RuneCountInString(c[1])
		label := clip(printable(c[0]), max(1, free-1))
		cell := label + strings.Repeat(" ", max(1, free-utf8.RuneCountInString(label))) + c[1]
		if i%columns == 0 {
			lines = append(lines, cell)
		} else {
			lines[len(lines)-1] += strings.Repeat(" ", cellGap) + cell
		}
	}
	return lines
}

// clip shortens a line to width characters.
func clip(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:max(0, width-1)]) + "~"
	}
	return line
}

// printable replaces control and other non-printable characters, because users of the workspace choose the names.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// quantity returns a number with its unit, short.
func quantity(n float64, unit string, p palette) string {
	switch unit {
	case "percent":
		return fmt.Sprintf("%.1f %%", n)
	case "bytes":
		return byteSize(n)
	case "bytes/s":
		return byteSize(n) + "/s"
	case "celsius":
		return fmt.Sprintf("%.0f %s", n, p.degree)
	}
	return fmt.Sprintf("%.2f", n)
}

// byteSize returns bytes with a binary prefix and three digits.
func byteSize(n float64) string {
	prefixes := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; math.Abs(n) >= 999.5 && i < len(prefixes)-1; i++ {
		n /= 1024
	}
	digits := 0
	if i > 0 {
		digits = max(0, 2-int(math.Log10(max(1, math.Abs(n)))))
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + " " + prefixes[i]
}

// duration returns a duration short: 3.1 ms, 120 ms, 4.2 s, 3m21s, 5h02m.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// thousands returns a count with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// sparkline renders the last values, one per character, on a scale from zero to the highest value but at least 10, so
// that the noise of an idle machine looks flat.
func sparkline(values []float64, width int, levels []rune) string {
	values = values[max(0, len(values)-max(0, width)):]
	top := 10.0
	for _, v := range values {
		top = max(top, v)
	}
	line := make([]rune, len(values))
	for i, v := range values {
		line[i] = levels[min(max(int(v/top*float64(len(levels))), 0), len(levels)-1)]
	}
	return string(line)
}
