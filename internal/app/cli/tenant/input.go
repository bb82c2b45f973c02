package tenant

import (
	"fmt"
	"io"
	"os"
)

// readInput reads at most maxBytes of a file, or of the standard input for -.
func readInput(name string, maxBytes int64) ([]byte, error) {
	var from io.Reader = os.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, maxBytes))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return content, nil
}
