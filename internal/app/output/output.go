// Package output prints what commands report: tables, JSON and progress.
package output

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/term"
)

// JSON prints a value as one indented JSON document.
func JSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Writer is the output of commands. Tests replace it.
type Writer struct {
	io.Writer
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
