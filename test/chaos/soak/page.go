package soak

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
	"github.com/livegraph/livegraph/test/chaos/plots"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/watch"
)

//go:embed page.md.tmpl
var pageText string

// imagesPath is the folder of the plots, below the page's.
const imagesPath = "images"

// result is what a run was and found.
type result struct {
	Began   time.Time
	Command string
	Length  time.Duration
	Where   machine.Surroundings
	Engines map[string]string
	Samples []watch.Sample
	Rounds  []run.Round
	Summary run.Summary
}

// Rising returns what goes up.
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

// Short reports whether the run was too short for trends.
func (r *result) Short() bool { return r.Length < watch.LeastForTrends }

// Good reports whether nothing was wrong.
func (r *result) Good() bool { return len(r.Violations()) == 0 && len(r.Rising()) == 0 }

// Violations returns those of all rounds.
func (r *result) Violations() (all []run.Violation) {
	for _, round := range r.Rounds {
		all = append(all, round.Violations...)
	}
	return all
}

// Verdict returns the result in a few sentences.
func (r *result) Verdict() string {
	var said []string
	switch rising := r.Rising(); {
	case r.Short():
		said = append(said, "The run was too short to say anything of trends.")
	case len(rising) == 0:
		said = append(said, "Over the second half neither memory nor goroutines nor open files of any process rise.")
	default:
		for _, t := range rising {
			said = append(said, "Over the second half this goes up: "+t.String()+".")
		}
	}
	if len(r.Violations()) == 0 {
		said = append(said, "All checks of the runs of faults passed after every round.")
	}
	for _, v := range r.Violations() {
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
		"trends": func() []watch.Trend { return watch.Trends(r.Samples) }, "engines": r.engines, "faults": r.faults,
		"length": func() string { return shortest(r.Length) }, "images": func() string { return imagesPath },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = page.Execute(&text, r)
	return text.Bytes(), err
}

// faults lists the kinds that happened, and how often.
func (r *result) faults() string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(r.Summary.ByKind)) {
		list = append(list, fmt.Sprintf("%s %d", kind, r.Summary.ByKind[kind]))
	}
	return strings.Join(list, ", ")
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
	lag := map[string][]plots.Dot{}
	for _, s := range r.Samples {
		for name, n := range s.Lag {
			name = strings.TrimPrefix(name, "livegraph-")
			lag[name] = append(lag[name], plots.Dot{At: s.At, Value: float64(n)})
		}
	}
	all["lag"] = r.plot("not consumed, records", lag)
	return all
}

func (r *result) plot(title string, lines map[string][]plots.Dot) plots.Plot {
	p := plots.Plot{Title: title}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		p.Lines = append(p.Lines, plots.Line{Name: name, Dots: lines[name]})
	}
	for _, round := range r.Rounds {
		began := time.Duration(round.Began) * time.Millisecond
		if round.Rolled {
			p.Bars = append(p.Bars, began)
		}
		for _, f := range round.Faults {
			if f.Missed == "" {
				p.Marks = append(p.Marks, began+time.Duration(f.At)*time.Millisecond)
			}
		}
	}
	return p
}

// shortest returns a length as one would type it: 1h, not 1h0m0s.
func shortest(d time.Duration) string {
	text := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-2]
		}
	}
	return text
}
