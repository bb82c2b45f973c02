// Package table adds up the logs of runs of faults for docs/reliability.md.
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

// The marks between which the page has the tables.
const (
	begin = "<!-- what follows is made by `make chaos-report` -->\n"
	end   = "<!-- the end of what is made -->"
)

// Into puts a text between the marks of a page.
func Into(page, text string) (string, error) {
	before, rest, opened := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		return "", errors.New("the page has no place for the tables")
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}

// Of returns the tables of the logs in a folder, in the order of their names.
func Of(folder fs.FS) (string, error) {
	names, err := fs.Glob(folder, "*.ndjson")
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	var runs strings.Builder
	runs.WriteString(
		"| began | commit | Kafka | seed | faults | kinds | kills | settlings | settled in, p50 / max | took | " +
			"violations |\n",
	)
	runs.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	kinds, total := map[string]int{}, run.Summary{}
	for _, name := range names {
		if err := add(folder, name, &runs, kinds, &total); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Fprintf(
		&runs, "\nAll in all %d faults of %d kinds, %d of them kills, in %d rounds that settled; %d violations.\n\n",
		total.Faults, len(kinds), total.Kills, total.Settlings, total.Violations,
	)
	byFamily(&runs, kinds)
	return runs.String(), nil
}

// add adds one log.
func add(folder fs.FS, name string, out *strings.Builder, kinds map[string]int, total *run.Summary) error {
	file, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines, err := run.Read(file)
	if err != nil {
		return err
	}
	if len(lines) == 0 || lines[0].Begin == nil || lines[len(lines)-1].Summary == nil {
		return errors.New("it is not the log of a run that has ended")
	}
	b, s := lines[0].Begin, lines[len(lines)-1].Summary
	edition := b.Kafka
	if b.Losing {
		edition += ", losing"
	}
	fmt.Fprintf(out, "| %s | %s | %s | %d | %d | %d | %d | %d | %.1f s / %.1f s | %s | %d |\n",
		b.At.UTC().Format("2006-01-02 15:04"), b.Commit, edition, b.Seed, s.Faults, len(s.ByKind), s.Kills, s.Settlings,
		float64(s.SettleP50)/1000, float64(s.SettleMax)/1000, time.Duration(s.Seconds)*time.Second, s.Violations)
	for kind, n := range s.ByKind {
		kinds[kind] += n
	}
	total.Faults += s.Faults
	total.Kills += s.Kills
	total.Settlings += s.Settlings
	total.Violations += s.Violations
	return nil
}

// byFamily writes the counts, a line for each thing that is done.
func byFamily(out *strings.Builder, kinds map[string]int) {
	families, sums := map[string][]string{}, map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		does, what, _ := strings.Cut(kind, "/")
		families[does] = append(families[does], fmt.Sprintf("%s %d", what, kinds[kind]))
		sums[does] += kinds[kind]
	}
	out.WriteString("| fault | times | to what |\n|---|---|---|\n")
	for _, does := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(out, "| %s | %d | %s |\n", does, sums[does], strings.Join(families[does], ", "))
	}
}
