package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/livegraph/livegraph/internal/app/load"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// benchPlan is the requested load in the printed report.
type benchPlan struct {
	Points  int64   `json:"points"`
	Rate    float64 `json:"rate"`
	Callers int     `json:"callers"`
	Batch   int     `json:"batch"`
	Series  int     `json:"series"`
	Sources int     `json:"sources"`
	Format  string  `json:"format"`
	Values  string  `json:"values"`
}

func (c *BenchCmd) summary() benchPlan {
	return benchPlan{
		Points: c.Points, Rate: c.Rate, Callers: c.Callers, Batch: c.Batch,
		Series: c.Series, Sources: c.Sources, Format: c.Format, Values: c.Values,
	}
}

// benchReport is the JSON that a bench prints.
type benchReport struct {
	Version string    `json:"version"` // of this command; the server may be another
	URL     string    `json:"url"`
	Plan    benchPlan `json:"plan"`
	load.Result
}

// benchScreen shows the progress of a load. On a terminal it redraws one line; elsewhere
// it prints a line every benchLineInterval. It prints nothing if the output is JSON.
type benchScreen struct {
	out       io.Writer
	terminal  bool
	last      load.Progress
	printedAt time.Duration
	drawn     bool
}

// benchLineInterval is the time between two lines of progress if the output is not a terminal.
const benchLineInterval = 5 * time.Second

func newBenchScreen(out *output.Writer, quiet bool) *benchScreen {
	if quiet {
		return &benchScreen{out: io.Discard}
	}
	return &benchScreen{out: out.Writer, terminal: output.IsTerminal(out.Writer)}
}

func (s *benchScreen) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

func (s *benchScreen) progress(p load.Progress) {
	rate := float64(p.Accepted-s.last.Accepted) / (p.Elapsed - s.last.Elapsed).Seconds()
	s.last = p
	text := fmt.Sprintf(
		"%3.0f s  %s points accepted, %s/s now", p.Elapsed.Seconds(), amount(float64(p.Accepted)), amount(rate),
	)
	if p.Waiting {
		text = fmt.Sprintf(
			"%3.0f s  %s points accepted; waiting for them to be visible", p.Elapsed.Seconds(), amount(float64(p.Accepted)),
		)
	}
	if p.Refusals > 0 {
		text += fmt.Sprintf(", %s answered with Retry-After", plural.Count(p.Refusals, "request"))
	}
	switch {
	case s.terminal:
		_, _ = fmt.Fprintf(s.out, "\r\x1b[2K%s", text)
		s.drawn = true
	case p.Elapsed-s.printedAt >= benchLineInterval:
		s.printedAt = p.Elapsed
		s.printf("%s", text)
	}
}

// clear erases the redrawn line.
func (s *benchScreen) clear() {
	if s.drawn {
		_, _ = fmt.Fprint(s.out, "\r\x1b[2K")
	}
}

// printBench prints the measurements.
func printBench(w io.Writer, c *BenchCmd, r load.Result) error {
	if r.Interrupted {
		_, _ = fmt.Fprintln(w, "interrupted; these are the measurements until then")
	}
	visible := fmt.Sprintf("%s points/s until all were visible", amount(r.VisiblePerSecond))
	if r.Visible < r.Accepted {
		visible = "the wait ended before all points were visible"
	}
	_, _ = fmt.Fprintf(
		w, "\naccepted   %s points in %s, %s points/s\n", amount(float64(r.Accepted)), plural.Count(r.Requests, "request"),
		amount(r.AcceptedPerSecond),
	)
	_, _ = fmt.Fprintf(w, "visible    %s\n", visible)
	if c.Rate > 0 {
		_, _ = fmt.Fprintf(w, "requested  %s points/s\n", amount(c.Rate))
	}
	if r.Rejected > 0 {
		_, _ = fmt.Fprintf(w, "rejected   %s points\n", amount(float64(r.Rejected)))
	}
	_, _ = fmt.Fprintln(w)
	err := output.Table(w, [][]string{
		{"MS", "P50", "P95", "P99", "MAX", "REQUESTS"},
		distributionRow("request to answer", r.Latency),
		distributionRow("answer to visible", r.Freshness),
	})
	reasons := make([]string, 0, len(r.Refusals))
	for reason := range r.Refusals {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		_, _ = fmt.Fprintf(w, "answered with Retry-After %s: %s\n", plural.Count(r.Refusals[reason], "time"), reason)
	}
	return err
}

func distributionRow(name string, d load.Distribution) []string {
	if d.Count == 0 {
		return []string{name, "-", "-", "-", "-", "0"}
	}
	ms := func(v time.Duration) string { return strconv.FormatFloat(float64(v.Microseconds())/1000, 'f', 1, 64) }
	return []string{
		name, ms(d.P50.Duration()), ms(d.P95.Duration()), ms(d.P99.Duration()), ms(d.Max.Duration()),
		strconv.FormatInt(d.Count, 10),
	}
}

// amount formats a number with three digits and a unit prefix.
func amount(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if n >= 0.9995*unit.size { // a number that rounds to 1000 of a unit is 1 of the next
			return strconv.FormatFloat(n/unit.size, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}
