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

// head begins the table.
const head = "| bug | breaks | caught by | what was seen first | seconds |\n|---|---|---|---|---|\n"

// row writes what came of a planted bug, in Markdown.
func (r result) row() string {
	var by string
	switch {
	case r.by == "":
		by = "**nothing**"
	case r.test != "":
		by = fmt.Sprintf("`go test %s`", r.test)
	default:
		by = fmt.Sprintf("faults `%s`; broken: %s", strings.ReplaceAll(r.faults, ",", "`, `"), list(r.found))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.0f |\n", r.bug, r.invariant, by, cmp.Or(r.what, "–"), r.took.Seconds())
}

// table writes the rows of bugs, in the order given. Of a bug that was not tried this
// time the row of before stands.
func table(bugs []string, tried []result, before string) string {
	rows := map[string]string{}
	for line := range strings.Lines(before) {
		if bug, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
			rows[bug] = line
		}
	}
	for _, r := range tried {
		rows[r.bug] = r.row()
	}
	var text strings.Builder
	text.WriteString(head)
	for _, bug := range bugs {
		text.WriteString(rows[bug])
	}
	return text.String()
}

func list(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = fmt.Sprint(n)
	}
	return strings.Join(texts, ", ")
}

// write brings the document's table up to date.
func write(path string, bugs []string, tried []result) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), tableBegins)
	old, after, ended := strings.Cut(rest, tableEnds)
	if !ok || !ended {
		return errors.New(path + " has no place for the table")
	}
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+table(bugs, tried, old)+tableEnds+after), 0o644)
}
