package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/livegraph/livegraph/test/bench/machine"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/soak/plots"
	"github.com/livegraph/livegraph/test/soak/traffic"
	"github.com/livegraph/livegraph/test/soak/watch"
)

//go:embed page.md.tmpl
var pageText string

// result is what came of a run.
type result struct {
	Began      time.Time
	Command    string
	Length     time.Duration
	Where      machine.Surroundings
	Engines    map[string]string
	Warm       time.Duration // before it is measured
	Capacity   float64       // requests/s
	Share      float64
	FaultEvery time.Duration
	Steps      []traffic.Step
	Rate       float64 // of traffic, requests/s
	Checked    float64 // of the load that is checked
	Samples    []watch.Sample
	Kinds      map[string]*traffic.Counts
	Order      []string // of the kinds
	Events     []event
	Violations []run.Violation
}

// expected are the statuses of a request that is not accepted.
var expected = []int{429, 502, 503, 504}

// Wrong counts the answers that should not have been, by their status.
func (r *result) Wrong() map[int]int {
	wrong := map[int]int{}
	for _, counts := range r.Kinds {
		for status, n := range counts.ByStatus {
			if status != 0 && status/100 != 2 && !slices.Contains(expected, status) {
				wrong[status] += n
			}
		}
	}
	return wrong
}

// Rising are the trends that are.
func (r *result) Rising() (rising []watch.Trend) {
	if r.Short() {
		return nil
	}
	for _, t := range watch.Trends(r.Samples) {
		if t.Rises() {
			rising = append(rising, t)
		}
	}
	return rising
}

// Short says that the run was too short for trends.
func (r *result) Short() bool { return r.Length < watch.LeastForTrends }

// Good says that nothing was wrong.
func (r *result) Good() bool {
	return len(r.Violations) == 0 && len(r.Wrong()) == 0 && len(r.Rising()) == 0
}

// Verdict says in a few sentences what there is to say.
func (r *result) Verdict() string {
	var said []string
	if wrong := r.Wrong(); len(wrong) > 0 {
		said = append(said, "There were answers other than 2xx, 429, 502, 503 and 504: "+statusText(wrong)+".")
	} else {
		said = append(said, "No answer was other than 2xx, 429, 502, 503 or 504.")
	}
	switch rising := r.Rising(); {
	case r.Short():
		said = append(said, "The run was too short to say anything of trends.")
	case len(rising) == 0:
		said = append(
			said, "Over the second half nothing goes up and on: neither memory nor goroutines nor open files of any process.",
		)
	default:
		for _, t := range rising {
			said = append(said, "Over the second half this goes up: "+t.String()+".")
		}
	}
	if len(r.Violations) == 0 {
		said = append(said, "What stood in the end was what had been answered, by all checks of the runs of faults.")
	}
	for _, v := range r.Violations {
		said = append(said, fmt.Sprintf("Invariant %d was broken: %s.", v.Invariant, v.What))
	}
	return strings.Join(said, " ")
}

// write writes the page and its plots.
func (r *result) write(path string) error {
	images := filepath.Join(filepath.Dir(path), imagesPath)
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	for name, plot := range r.plots() {
		if err := plot.Save(filepath.Join(images, "soak-"+name+".svg")); err != nil {
			return err
		}
	}
	text, err := r.page()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func (r *result) page() ([]byte, error) {
	page, err := template.New("page").Funcs(template.FuncMap{
		"trends": func() []watch.Trend { return watch.Trends(r.Samples) }, "statuses": statusText, "minutes": minutes,
		"percent": func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }, "engines": r.engines,
		"length": func() string { return shortest(r.Length) }, "every": func() string { return shortest(r.FaultEvery) },
		"warm": func() string { return shortest(r.Warm) },
		"took": func(c *traffic.Counts, share float64) string {
			if ms := c.Took(share); ms > 0 {
				return fmt.Sprintf("%.0f ms", ms)
			}
			return "–"
		},
		"images": func() string { return imagesPath },
		"accepted": func(c *traffic.Counts) string {
			return fmt.Sprintf("%.2f %%", 100*float64(c.Accepted())/float64(max(c.Sent(), 1)))
		},
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = page.Execute(&text, r)
	return text.Bytes(), err
}

func (r *result) engines() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Engines)) {
		list = append(list, name+" "+r.Engines[name])
	}
	return strings.Join(list, ", ")
}

// plots are those of the page, by the ends of their names.
func (r *result) plots() map[string]plots.Plot {
	all := map[string]plots.Plot{}
	for i, m := range watch.Measures() {
		title := m.Name
		if m.Unit != "" {
			title += ", " + m.Unit
		}
		lines := map[string][]plots.Dot{}
		for _, s := range r.Samples {
			for name, p := range s.Processes {
				lines[name] = append(lines[name], plots.Dot{At: s.At, Value: m.Of(p.Vitals)})
			}
		}
		all[[]string{"memory", "goroutines", "files"}[i]] = r.plot(title, lines)
	}
	lag, answers, times := map[string][]plots.Dot{}, map[string][]plots.Dot{}, map[string][]plots.Dot{}
	for i, s := range r.Samples {
		for name, n := range s.Lag {
			lag[strings.TrimPrefix(name, "livegraph-")] = append(
				lag[strings.TrimPrefix(name, "livegraph-")], plots.Dot{At: s.At, Value: float64(n)},
			)
		}
		if i == 0 {
			continue
		}
		seconds := (s.At - r.Samples[i-1].At).Seconds()
		accepted := float64(s.Requests.Accepted())
		answers["accepted"] = append(answers["accepted"], plots.Dot{At: s.At, Value: accepted / seconds})
		answers["not accepted"] = append(answers["not accepted"], plots.Dot{
			At: s.At, Value: (float64(s.Requests.Sent()) - accepted) / seconds,
		})
		for _, share := range []float64{0.5, 0.99} {
			name := fmt.Sprintf("p%.0f", 100*share)
			times[name] = append(times[name], plots.Dot{At: s.At, Value: s.Requests.Took(share)})
		}
	}
	all["lag"] = r.plot("not consumed, records", lag)
	all["answers"] = r.plot("answers a second", answers)
	all["times"] = r.plot("time to an answer that accepts, ms", times)
	return all
}

func (r *result) plot(title string, lines map[string][]plots.Dot) plots.Plot {
	p := plots.Plot{Title: title}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		p.Lines = append(p.Lines, plots.Line{Name: name, Dots: lines[name]})
	}
	for _, e := range r.Events {
		switch {
		case e.Restart:
			p.Bars = append(p.Bars, e.At)
		case e.Missed == "":
			p.Marks = append(p.Marks, e.At)
		}
	}
	return p
}

// statusText lists answers by their status.
func statusText(byStatus map[int]int) string {
	var list []string
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "none"
		}
		list = append(list, fmt.Sprintf("%s: %d", name, byStatus[status]))
	}
	return strings.Join(list, ", ")
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f", d.Minutes()) }
