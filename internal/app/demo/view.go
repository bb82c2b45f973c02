package demo

import (
	"cmp"
	"embed"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/bytesize"
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

// status is what the demo has done so far and what was measured last. The templates read it.
type status struct {
	Address                          string
	Up                               time.Duration
	Sent, Waiting, Rejected, Dropped int       // points; those that wait were measured and not sent yet
	Ingest                           latencies // of requests
	Visible                          latencies // after the answer to an ingest
	Trouble                          string    // "" when all is well
	CPU                              []float64 // percent, oldest first
	Nodes, Edges, Changes            int       // of the graph; changes by this demo

	Latest map[string]map[string]float64 // values by a source's kind and a metric, then by the tag's value; "": no tag
	nodeOf map[string]string             // ids of the nodes that sources belong to, by key
}

// PointsPerSecond returns the mean rate of sent points.
func (s *status) PointsPerSecond() float64 { return float64(s.Sent) / max(1, s.Up.Seconds()) }

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

var (
	//go:embed headlines.csv
	headlinesFile string
	//go:embed *.tmpl
	files embed.FS
)

// templates are the texts of the view, of the summary and of the printed commands.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"count": english.Sprint, "duration": duration, "quantity": quantity, "sparkline": sparkline,
	"latency": latencies.text, "p95": latencies.p95, "printable": output.Printable, "quote": output.ShellQuote,
}).ParseFS(files, "*.tmpl"))

// text executes a template. A strings.Builder returns no error, and tests execute all templates.
func text(name string, data any) string {
	var b strings.Builder
	_ = templates.ExecuteTemplate(&b, name, data)
	return b.String()
}

// headlines lists what the view shows, in its order: the kind of a source and a metric, a label, in which %s is the
// tag's value, and a unit.
var headlines, _ = csv.NewReader(strings.NewReader(headlinesFile)).ReadAll()

// setLatest stores the values of a round. It keeps those that the round does not have, because a collector was late.
func (s *status) setLatest(round []client.Point) {
	newest := map[string]map[string]float64{}
	for _, p := range round {
		metric, tag := path.Base(p.Source)+" "+p.Metric, strings.Join(slices.Collect(maps.Values(p.Tags)), "")
		if newest[metric] == nil {
			newest[metric] = map[string]float64{}
		}
		newest[metric][tag] = p.Value
	}
	for _, percent := range newest["cpu usage_percent"] {
		s.CPU = last(append(s.CPU, percent), maxHistory)
	}
	latest := map[string]map[string]float64{} // current shares the old one
	maps.Copy(latest, s.Latest)
	maps.Copy(latest, newest)
	s.Latest = latest
}

// values returns the label and the text of each value of the headlines.
func (s *status) values() (cells [][2]string) {
	for _, h := range headlines {
		values := s.Latest[h[0]]
		for _, tag := range slices.Sorted(maps.Keys(values)) {
			cells = append(cells, [2]string{strings.Replace(h[1], "%s", tag, 1), quantity(values[tag], h[2])})
		}
	}
	return cells
}

// programs returns the name and the load of each program, the busiest first.
func (s *status) programs() (cells [][2]string) {
	cpu, rss := s.Latest["processes cpu_percent"], s.Latest["processes rss_bytes"]
	for _, name := range slices.SortedFunc(maps.Keys(cpu), func(a, b string) int {
		return cmp.Or(cmp.Compare(cpu[b], cpu[a]), cmp.Compare(rss[b], rss[a]), cmp.Compare(a, b))
	}) {
		load := fmt.Sprintf("%8s %9s", quantity(cpu[name], "percent"), quantity(rss[name], "bytes"))
		cells = append(cells, [2]string{name, load})
	}
	return cells
}

// last returns the last values, at most limit of them.
func last[T any](values []T, limit int) []T { return values[max(0, len(values)-limit):] }

// render renders the status in at most height lines of at most width characters.
func (s *status) render(width, height int) []string {
	lines := strings.Split(text("view", s), "\n")
	section := func(title string, cells [][2]string, limit int) {
		if rows := grid(cells, width); len(rows) > 0 {
			lines = append(append(lines, "", title), rows[:min(len(rows), limit)]...)
		}
	}
	section("latest values", s.values(), height)
	section("busiest programs", s.programs(), maxProgramRow)
	lines = lines[:min(len(lines), height)]
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%.*s", width, output.Printable(line))
	}
	return lines
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
		return bytesize.Format(int64(n)) + strings.TrimPrefix(unit, "bytes")
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
	size func() (width, height int) // of the terminal; nil: lines, and after close

	mu      sync.Mutex
	last    []string  // lines on the terminal
	printed time.Time // last line
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
		_, _ = io.WriteString(d.out, text("summary", s)+"\n")
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
	if text = strings.Join(rows, ""); d.size != nil {
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
	if d.size != nil {
		d.size = nil
		_, _ = io.WriteString(d.out, eraseBelow+showCursor)
	}
}
