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

// Keys of notes. Notes of go test (goos, pkg and others) are ignored.
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

// results are the notes and the samples (by name) of a section's benchmarks. They are read from the
// output of go test, and stored in a file as notes ("key: value") and lines of name, unit and values.
type results struct {
	notes   map[string]string
	samples map[string]*samples
	names   []string        // of samples, in the order of measurement
	shown   map[string]bool // by the page
}

// samples are the values of one name, with one unit.
type samples struct {
	unit   string
	values []float64
}

func newResults() *results {
	return &results{notes: map[string]string{}, samples: map[string]*samples{}, shown: map[string]bool{}}
}

// nameSuffix matches what go test appends to a name: the number of processors if there are several,
// and a number if a name repeats.
var nameSuffix = regexp.MustCompile(`(#\d+)?(-\d+)?$`)

// read parses a line of output and ignores any other line and unknown units. A benchmark has one known
// unit.
func (r *results) read(line string) {
	if key, value, ok := strings.Cut(line, ": "); ok && slices.Contains(noteKeys, key) {
		r.notes[key] = value
		return
	}
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	name := nameSuffix.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
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

// readSaved parses a line of the file.
func (r *results) readSaved(line string) {
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

// dropUnshown removes samples that the page does not show.
func (r *results) dropUnshown() {
	r.names = slices.DeleteFunc(r.names, func(name string) bool { return !r.shown[name] })
	maps.DeleteFunc(r.samples, func(name string, _ *samples) bool { return !r.shown[name] })
}

// load reads the last results by section. If the file does not exist, there are none.
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
		current.readSaved(line)
	}
	return all, nil
}

// save writes the results in the order of the page.
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
	return os.WriteFile(path, text.Bytes(), 0o644) // a public file
}

// samplesOf returns the samples of a name and marks it as shown.
func (r *results) samplesOf(name string) (*samples, error) {
	if s := r.samples[name]; s != nil {
		r.shown[name] = true
		return s, nil
	}
	return nil, fmt.Errorf("no samples of %q, only of %v", name, slices.Sorted(maps.Keys(r.samples)))
}

// median returns the middle value, or the mean of the two middle values.
func (s *samples) median() float64 {
	sorted := slices.Sorted(slices.Values(s.values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
