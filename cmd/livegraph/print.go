package main

import (
	"encoding/json"
	"io"
)

// printJSON prints a value for programs: indented, one document.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
