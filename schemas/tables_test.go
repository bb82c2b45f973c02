package schemas_test

import (
	"embed"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
)

var createTable = regexp.MustCompile(`(?i)CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)

// section returns the content of a document below a second-level heading.
func section(t *testing.T, document, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(document, "\n## "+heading+"\n")
	require.True(t, found, "no section %s", heading)
	part, _, _ := strings.Cut(rest, "\n## ")
	return part
}

func TestEveryTableIsDescribed(t *testing.T) {
	document, err := os.ReadFile("tables.md")
	require.NoError(t, err)
	for heading, files := range map[string]embed.FS{"Postgres": schemas.Postgres, "ClickHouse": schemas.ClickHouse} {
		described := section(t, string(document), heading)
		tables := 0
		require.NoError(t, fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := files.ReadFile(path)
			for _, table := range createTable.FindAllStringSubmatch(string(text), -1) {
				require.Contains(t, described, "| `"+table[1]+"` |", "%s creates a table that tables.md does not describe", path)
				tables++
			}
			return err
		}))
		require.Positive(t, tables)
	}
}
