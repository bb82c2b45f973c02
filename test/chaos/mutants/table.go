package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The table is between these lines of the document.
const (
	tableBegins = "<!-- planted bugs: make mutants -->"
	tableEnds   = "<!-- end of planted bugs -->"
)

// tableHeader is the header of the table.
const tableHeader = "| bug | breaks | caught by | what was seen first | seconds |\n|---|---|---|---|---|\n"

// row returns the table row of a planted bug, in Markdown.
func (r result) row() string {
	var by string
	switch {
	case r.caughtBy == "":
		by = "**nothing**"
	case r.test != "":
		by = fmt.Sprintf("`go test %s`", r.test)
	default:
		by = fmt.Sprintf("faults `%s`; broken: %s", strings.ReplaceAll(r.faults, ",", "`, `"), list(r.found))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.0f |\n", r.bug, r.invariant, by, cmp.Or(r.what, "–"), r.took.Seconds())
}

// table returns the table of the bugs in the given order. A bug without a result keeps its previous
// row.
func table(bugs []string, results []result, before string) string {
	rows := map[string]string{}
	for line := range strings.Lines(before) {
		if bug, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
			rows[bug] = line
		}
	}
	for _, r := range results {
		rows[r.bug] = r.row()
	}
	var text strings.Builder
	text.WriteString(tableHeader)
	for _, bug := range bugs {
		text.WriteString(rows[bug])
	}
	return text.String()
}

func list(numbers []int) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ", ")
}

// write updates the table in the document.
func write(path string, bugs []string, results []result) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, remainder, ok := strings.Cut(string(raw), tableBegins)
	old, after, ended := strings.Cut(remainder, tableEnds)
	if !ok || !ended {
		return errors.New(path + " has no place for the table")
	}
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+table(bugs, results, old)+tableEnds+after), 0o644)
}
