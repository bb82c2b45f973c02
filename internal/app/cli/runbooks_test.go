package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	shellBlock    = regexp.MustCompile("(?s)```sh\n(.*?)```")
	pastedCommand = regexp.MustCompile("(?m)^livegraph .*$")
	placeholder   = regexp.MustCompile(`\b(OTHER_ID|ID|DIR)\b`)
)

// The commands of the runbooks must exist with the flags that they use, because operators
// paste them during incidents.
func TestCommandsOfTheRunbooksAreThere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "runbooks.md"))
	require.NoError(t, err)
	parsed := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		for _, line := range pastedCommand.FindAllString(block[1], -1) {
			line = placeholder.ReplaceAllString(line, "0198a7c2-1111-7222-8333-444455556666")
			line, _, _ = strings.Cut(line, " #")
			parser, err := newParser(t.Context(), "test", io.Discard, io.Discard)
			require.NoError(t, err)
			_, err = parser.Parse(strings.Fields(line)[1:])
			require.NoError(t, err, line)
			parsed++
		}
	}
	require.Greater(t, parsed, 30)
}
