// Package table builds the tables of docs/reliability.md from the logs of chaos runs.
package table

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/test/chaos/run"
)

// The markers around the tables on the page.
const (
	begin = "<!-- what follows is made by `make chaos-report` -->\n"
	end   = "<!-- the end of what is made -->"
)

// Insert replaces the text between the markers of a page.
func Insert(page, text string) (string, error) {
	before, remainder, opened := strings.Cut(page, begin)
	_, after, closed := strings.Cut(remainder, end)
	if !opened || !closed {
		return "", errors.New("the page has no place for the tables")
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}

// edition is the sum of the runs on the same editions of the engines.
type edition struct {
	run.Summary
	runs        int
	first, last time.Time
}

// Build returns the tables of the logs in a directory: a row for the editions of the engines, and one for
// each type of fault.
func Build(folder fs.FS) (string, error) {
	names, err := fs.Glob(folder, "*.ndjson")
	if err != nil {
		return "", err
	}
	editions, kinds, all := map[string]*edition{}, map[string]int{}, edition{}
	for _, name := range names {
		begin, summary, err := read(folder, name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		key := begin.Kafka
		if begin.Shards > 0 {
			key += fmt.Sprintf(", %d shards of ClickHouse", begin.Shards)
		}
		if begin.Losing {
			key += ", losing"
		}
		if editions[key] == nil {
			editions[key] = &edition{Summary: run.Summary{ByKind: map[string]int{}}}
		}
		for _, e := range []*edition{editions[key], &all} {
			e.add(begin.At, summary)
		}
		for kind, n := range summary.ByKind {
			kinds[kind] += n
			editions[key].ByKind[kind] += n
		}
	}
	var out strings.Builder
	out.WriteString("| engines | runs | from | to | faults | kinds | kills | settlings | longest | took | violations |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(editions)) {
		e := editions[key]
		fmt.Fprintf(&out, "| %s | %d | %s | %s | %d | %d | %d | %d | %.1f s | %s | %d |\n", key, e.runs,
			e.first.UTC().Format(time.DateOnly), e.last.UTC().Format(time.DateOnly), e.Faults, len(e.ByKind), e.Kills,
			e.Settlings, float64(e.SettleMax)/1000, time.Duration(e.Seconds)*time.Second, e.Violations)
	}
	fmt.Fprintf(
		&out, "\nAll in all %d faults of %d kinds, %d of them kills, in %d rounds that settled; %d violations.\n\n",
		all.Faults, len(kinds), all.Kills, all.Settlings, all.Violations,
	)
	byFamily(&out, kinds)
	return out.String(), nil
}

func (e *edition) add(at time.Time, s *run.Summary) {
	if e.runs == 0 || at.Before(e.first) {
		e.first = at
	}
	if at.After(e.last) {
		e.last = at
	}
	e.runs++
	e.Faults += s.Faults
	e.Kills += s.Kills
	e.Settlings += s.Settlings
	e.Violations += s.Violations
	e.Seconds += s.Seconds
	e.SettleMax = max(e.SettleMax, s.SettleMax)
}

// read returns the first and the last line of a log.
func read(folder fs.FS, name string) (*run.Begin, *run.Summary, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	lines, err := run.Read(file)
	if err != nil {
		return nil, nil, err
	}
	if len(lines) == 0 || lines[0].Begin == nil || lines[len(lines)-1].Summary == nil {
		return nil, nil, errors.New("it is not the log of a run that has ended")
	}
	return lines[0].Begin, lines[len(lines)-1].Summary, nil
}

// byFamily writes the counts, one line for each type of fault.
func byFamily(out *strings.Builder, kinds map[string]int) {
	families, sums := map[string][]string{}, map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		action, target, _ := strings.Cut(kind, "/")
		families[action] = append(families[action], fmt.Sprintf("%s %d", target, kinds[kind]))
		sums[action] += kinds[kind]
	}
	out.WriteString("| fault | times | to what |\n|---|---|---|\n")
	for _, action := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(out, "| %s | %d | %s |\n", action, sums[action], strings.Join(families[action], ", "))
	}
}
