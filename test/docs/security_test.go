package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference matches a file and a name in it, in the format of the page on security.
var reference = regexp.MustCompile("`([^` ]+)` `([^`]+)`")

// TestEveryThreatIsAnsweredInAPlaceThatExists requires that each row of the tables of threats names
// existing code and an existing test.
func TestEveryThreatIsAnsweredInAPlaceThatExists(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "security.md"))
	require.NoError(t, err)
	rows, threats := 0, false
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "|") {
			threats = false
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case strings.TrimSpace(cells[0]) == "threat":
			threats = true
		case threats && !strings.HasPrefix(cells[0], "---"):
			rows++
			require.Len(t, cells, 4, "%s", line)
			requireReferences(t, cells[2])
			requireReferences(t, cells[3])
		}
	}
	require.Greater(t, rows, 60)
}

// requireReferences requires that a cell contains at least one reference, and that all exist.
func requireReferences(t *testing.T, cell string) {
	t.Helper()
	references := reference.FindAllStringSubmatch(cell, -1)
	require.NotEmpty(t, references, "%s", cell)
	rest := reference.ReplaceAllString(cell, "")
	require.Empty(t, strings.Trim(rest, " ,"), "%s: what is this?", cell)
	for _, m := range references {
		path, name := m[1], m[2]
		content, err := os.ReadFile(filepath.Join(top, path))
		require.NoError(t, err, cell)
		quoted := regexp.QuoteMeta(name)
		switch {
		case strings.HasSuffix(path, "_test.go"):
			require.True(t, regexp.MustCompile(`(?m)^func `+quoted+`\(`).Match(content), "%s has no test %s", path, name)
		case strings.HasSuffix(path, ".go"):
			require.True(
				t, regexp.MustCompile(`(?m)^((func (\([^)]*\) )?|type |var |const )|\s+)`+quoted+`\b`).Match(content),
				"%s has no %s", path, name,
			)
		default:
			require.True(t, strings.Contains(string(content), name), "%s has no %s", path, name)
		}
	}
}
