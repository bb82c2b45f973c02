package main

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl sections/*.md.tmpl
var templates embed.FS

// units formats the values of each supported unit.
var units = map[string]func(float64) string{
	"points/s":     func(v float64) string { return thousands(v) + " points/s" },
	"commands/s":   func(v float64) string { return thousands(v) + " commands/s" },
	"points":       func(v float64) string { return thousands(v) + " points" },
	"commands":     digits,
	"requests":     digits,
	"texts":        func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) },
	"requests/s":   func(v float64) string { return thousands(v) + " requests/s" },
	"cpu-ns/point": func(v float64) string { return digits(v) + " ns" },
	"B/point":      digits,
	"ratio":        digits,
	"ms":           func(v float64) string { return digits(v) + " ms" },
	"%":            func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " %" },
	"s":            func(v float64) string { return digits(v) + " s" },
	"h":            func(v float64) string { return digits(v) + " hours" },
	"kB":           func(v float64) string { return digits(v) + " kB" },
	"GB":           func(v float64) string { return digits(v) + " GB" },
	"MiB":          func(v float64) string { return digits(v) + " MiB" },
}

// renderPage generates docs/benchmarks.md.
func renderPage(all map[string]*results) ([]byte, error) {
	page, err := templates.ReadFile("page.md.tmpl")
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		text := fmt.Sprintf("## %s\n\nNot measured yet: `make bench BENCH=%s`.\n", s.id, s.id)
		if r := all[s.id]; r != nil {
			if text, err = renderSection(s.id, r); err != nil {
				return nil, err
			}
		}
		page = append(append(page, '\n'), text...)
	}
	return page, nil
}

// renderSection generates one section of the page.
func renderSection(id string, r *results) (string, error) {
	name := id + ".md.tmpl"
	functions := template.FuncMap{
		"made": func() string { return provenance(id, r) }, "names": names,
		"list":     func(items ...string) []string { return items },
		"measured": r.measured, "row": r.row, "median": r.medianText, "spread": r.spread, "cells": r.cells,
		"compared": r.compared, "runs": r.runs,
	}
	t, err := template.New(name).Funcs(functions).ParseFS(templates, "sections/"+name)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = t.Execute(&text, nil)
	return text.String(), err
}

// names returns a map of pairs: a key and its display name.
func names(pairs ...string) map[string]string {
	table := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		table[pairs[i]] = pairs[i+1]
	}
	return table
}

// provenance returns the command that measures the section, and the date, commit, machine and
// versions.
func provenance(id string, r *results) string {
	text := fmt.Sprintf("`make bench BENCH=%s` (%s), measured on %s at commit %s\non %s, %s",
		id, r.notes[noteTook], r.notes[noteMeasured], r.notes[noteCommit], r.notes[noteMachine], r.notes[noteGo])
	if engines := r.notes[noteEngines]; engines != "" {
		text += ";\n" + engines
	}
	return text + "."
}

// row returns a table row: label, median and spread.
func (r *results) row(label, name string) (string, error) {
	median, err := r.medianText(name)
	if err != nil {
		return "", err
	}
	spread, err := r.spread(name)
	return fmt.Sprintf("| %s | %s | %s |", label, median, spread), err
}

// measured reports whether name has samples. A machine may lack what a measurement needs.
func (r *results) measured(name string) bool { return r.samples[name] != nil }

// medianText returns the median with its unit.
func (r *results) medianText(name string) (string, error) {
	s, err := r.samplesOf(name)
	if err != nil {
		return "", err
	}
	return units[s.unit](s.median()), nil
}

// cells returns the medians of several names with a prefix as table cells.
func (r *results) cells(prefix string, names ...string) (string, error) {
	cells := make([]string, len(names))
	for i, name := range names {
		var err error
		if cells[i], err = r.medianText(prefix + name); err != nil {
			return "", err
		}
	}
	return strings.Join(cells, " | "), nil
}

// compared returns the table cells of a query that was measured with its handwritten statements.
func (r *results) compared(prefix string) (string, error) {
	return r.cells(prefix+"/", "http-p50", "http-p95", "same-p50", "same-p95", "of-same", "numbers-p50", "of-numbers")
}

// spread returns the minimum and the maximum.
func (r *results) spread(name string) (string, error) {
	s, err := r.samplesOf(name)
	if err != nil || len(s.values) < 2 {
		return "", err
	}
	return units[s.unit](slices.Min(s.values)) + " to " + units[s.unit](slices.Max(s.values)), nil
}

// runs returns the number of samples.
func (r *results) runs(name string) (int, error) {
	s, err := r.samplesOf(name)
	if err != nil {
		return 0, err
	}
	return len(s.values), nil
}

// thousands formats a number with a suffix for thousands.
func thousands(value float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if value >= 0.9995*unit.size { // a value that rounds to 1000 of a unit is 1 of the next
			return digits(value/unit.size) + unit.name
		}
	}
	return digits(value)
}

// digits formats a number with three significant digits and all digits before the decimal point.
func digits(value float64) string {
	if value == 0 {
		return "0"
	}
	scientific := strconv.FormatFloat(value, 'e', 2, 64) // rounds: 9.996 is 1.00e+01
	exponent, _ := strconv.Atoi(scientific[strings.IndexByte(scientific, 'e')+1:])
	return strconv.FormatFloat(value, 'f', min(max(2-exponent, 0), 4), 64)
}
