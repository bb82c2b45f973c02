package output

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Printable replaces control and other non-printable characters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Table prints rows in columns, the first row as the heading. It replaces control
// characters by �, because users choose the names.
func Table(w io.Writer, rows [][]string) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Printable(cell)
		}
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}

// TextOr returns the text, or other if text is nil.
func TextOr(text *string, other string) string {
	if text == nil {
		return other
	}
	return *text
}

// ShellQuote quotes a word for a shell command.
func ShellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
