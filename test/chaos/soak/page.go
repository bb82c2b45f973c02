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

// imagesPath is the directory of the plots, relative to the page.
const imagesPath = "images"

// result contains the parameters and results of a run.
type result struct {
	Began   time.Time
	Command string
	Length  time.Duration
	Where   machine.Environment
	Engines map[string]string
	Samples []watch.Sample
	Rounds  []run.Round
	Summary run.Summary
}

// Rising returns the upward trends.
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
func (r *result) Short() bool { return r.Length < watch.MinForTrends }

// Good reports whether there are neither violations nor upward trends.
func (r *result) Good() bool { return len(r.Violations()) == 0 && len(r.Rising()) == 0 }

// Violations returns the violations of all rounds.
func (r *result) Violations() (all []run.Violation) {
	for _, round := range r.Rounds {
		all = append(all, round.Violations...)
	}
	return all
}

// Verdict returns the verdict in a few sentences.
func (r *result) Verdict() string {
	var sentences []string
	switch rising := r.Rising(); {
	case r.Short():
		sentences = append(sentences, "The run was too short to say anything of trends.")
	case len(rising) == 0:
		sentences = append(
			sentences, "Over the second half neither memory nor goroutines nor open files of any process rise.",
		)
	default:
		for _, t := range rising {
			sentences = append(sentences, "Over the second half this goes up: "+t.String()+".")
		}
	}
	if len(r.Violations()) == 0 {
		sentences = append(sentences, "All checks of the runs of faults passed after every round.")
	}
	for _, v := range r.Violations() {
		sentences = append(sentences, fmt.Sprintf("Invariant %d was broken: %s.", v.Invariant, v.What))
	}
	return strings.Join(sentences, " ")
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
		"length": func() string { return formatLength(r.Length) }, "images": func() string { return imagesPath },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = page.Execute(&text, r)
	return text.Bytes(), err
}

// faults returns the injected kinds and how often each was injected, as text.
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

// plots returns the plots of the page, by the suffixes of their names.
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

// formatLength formats a duration without zero units: 1h, not 1h0m0s.
func formatLength(d time.Duration) string {
	text := d.String()
	for _, suffix := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, suffix) {
			text = text[:len(text)-2]
		}
	}
	return text
}
