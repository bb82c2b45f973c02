package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The keys of notes. What go test notes itself (goos, pkg and the like) is left out.
const (
	noteSection  = "section" // the first line of each
	noteMeasured = "measured"
	noteTook     = "took"
	noteCommit   = "commit"
	noteMachine  = "machine"
	noteGo       = "go"
	noteEngines  = "engines"
)

var noteKeys = []string{noteMeasured, noteTook, noteCommit, noteMachine, noteGo, noteEngines}

// results are what the benchmarks of a section measured, and where: notes, and samples by name. They are read from the
// output of go test, and kept in a file as notes ("key: value") and lines of name, unit and values.
type results struct {
	notes   map[string]string
	samples map[string]*samples
	names   []string        // of samples, in the order in which they were measured
	shown   map[string]bool // by the page
}

// samples are the values that one thing was measured to have, all of one unit.
type samples struct {
	unit   string
	values []float64
}

func newResults() *results {
	return &results{notes: map[string]string{}, samples: map[string]*samples{}, shown: map[string]bool{}}
}

// numbered is what go test adds to a name: the processors it uses, if several, and
// a number where a name repeats.
var numbered = regexp.MustCompile(`(#\d+)?(-\d+)?$`)

// read takes a line up, if it says something. Of units it takes those that the page
// knows; of the units of one benchmark that is one.
func (r *results) read(line string) {
	if key, value, ok := strings.Cut(line, ": "); ok && slices.Contains(noteKeys, key) {
		r.notes[key] = value
		return
	}
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	name := numbered.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		unit := fields[i+1]
		if err != nil || units[unit] == nil {
			continue
		}
		r.add(name, unit, value)
	}
}

func (r *results) add(name, unit string, value float64) {
	if r.samples[name] == nil {
		r.samples[name] = &samples{unit: unit}
		r.names = append(r.names, name)
	}
	r.samples[name].values = append(r.samples[name].values, value)
}

// readKept reads a line of the file.
func (r *results) readKept(line string) {
	r.read(line)
	fields := strings.Fields(line)
	if len(fields) < 3 || units[fields[1]] == nil {
		return
	}
	for _, field := range fields[2:] {
		if value, err := strconv.ParseFloat(field, 64); err == nil {
			r.add(fields[0], fields[1], value)
		}
	}
}

// dropUnshown drops what the page has not shown.
func (r *results) dropUnshown() {
	r.names = slices.DeleteFunc(r.names, func(name string) bool { return !r.shown[name] })
	maps.DeleteFunc(r.samples, func(name string, _ *samples) bool { return !r.shown[name] })
}

// load reads what was measured last, by section. A file that is not there is empty.
func load(path string) (map[string]*results, error) {
	all := map[string]*results{}
	payload, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	current := newResults()
	for line := range strings.Lines(string(payload)) {
		line = strings.TrimSuffix(line, "\n")
		if id, ok := strings.CutPrefix(line, noteSection+": "); ok {
			current = newResults()
			all[id] = current
			continue
		}
		current.readKept(line)
	}
	return all, nil
}

// save writes them, in the order of the page.
func save(path string, all map[string]*results) error {
	var text bytes.Buffer
	for _, s := range sections {
		r := all[s.id]
		if r == nil {
			continue
		}
		fmt.Fprintf(&text, "%s: %s\n", noteSection, s.id)
		for _, key := range noteKeys {
			if r.notes[key] != "" {
				fmt.Fprintf(&text, "%s: %s\n", key, r.notes[key])
			}
		}
		for _, name := range r.names {
			text.WriteString(name + " " + r.samples[name].unit)
			for _, value := range r.samples[name].values {
				text.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64))
			}
			text.WriteString("\n")
		}
		text.WriteString("\n")
	}
	return os.WriteFile(path, text.Bytes(), 0o644) // a file for everybody
}

// of returns the samples of a name.
func (r *results) of(name string) (*samples, error) {
	if s := r.samples[name]; s != nil {
		r.shown[name] = true
		return s, nil
	}
	return nil, fmt.Errorf("nothing was measured of %q, but of %v", name, slices.Sorted(maps.Keys(r.samples)))
}

// median returns the middle value, the mean of the two in the middle where their
// number is even.
func (s *samples) median() float64 {
	sorted := slices.Sorted(slices.Values(s.values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
