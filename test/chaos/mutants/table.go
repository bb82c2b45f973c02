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

// table writes what came of the planted bugs, in Markdown.
func table(tried []result) string {
	var text strings.Builder
	text.WriteString("| bug | breaks | caught by | what was seen first | seconds |\n|---|---|---|---|---|\n")
	for _, r := range tried {
		var by string
		switch {
		case r.by == "":
			by = "**nothing**"
		case r.test != "":
			by = fmt.Sprintf("`go test %s`", r.test)
		default:
			by = fmt.Sprintf("faults `%s`, invariants %s", r.faults, list(r.found))
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %.0f |\n", r.bug, r.invariant, by, cmp.Or(r.what, "–"), r.took.Seconds())
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

// write puts a table into the document, in place of the one that is there.
func write(path, text string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), tableBegins)
	_, after, ended := strings.Cut(rest, tableEnds)
	if !ok || !ended {
		return errors.New(path + " has no place for the table")
	}
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+text+tableEnds+after), 0o644)
}
