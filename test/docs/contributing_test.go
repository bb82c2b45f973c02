package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read returns the text of a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	require.NoError(t, err)
	return string(text)
}

// path matches a file of the repository in a page.
var path = regexp.MustCompile("`((?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]+)`")

// TestWhereThingsGoExists requires that the files in the table of changes exist. Other tests check its
// links.
func TestWhereThingsGoExists(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/architecture.md"), "## Where a change goes")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	named := path.FindAllStringSubmatch(table, -1)
	require.Greater(t, len(named), 10)
	for _, m := range named {
		_, err := os.Stat(filepath.Join(top, m[1]))
		require.NoError(t, err, "docs/architecture.md names %s", m[1])
	}
}

// TestOperationsNamesEveryRole compares the table of roles with the setting.
func TestOperationsNamesEveryRole(t *testing.T) {
	setting := regexp.MustCompile("(?m)^\\| `--roles` .*all, or any of ([a-z, ]+)\\.").
		FindStringSubmatch(read(t, "docs/settings.md"))
	require.NotNil(t, setting)
	_, table, found := strings.Cut(read(t, "docs/operations.md"), "| `--roles` |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	require.ElementsMatch(t, append(strings.Split(setting[1], ", "), "all"), rows)
}

var release = regexp.MustCompile(`(?m)^## \[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d$`)

// numbers parses the parts of a version.
func numbers(t *testing.T, parts []string) (version []int) {
	t.Helper()
	require.Len(t, parts, 3)
	for _, part := range parts {
		number, err := strconv.Atoi(part)
		require.NoError(t, err)
		version = append(version, number)
	}
	return version
}

// TestTheChangelogIsKept checks the format of CHANGELOG.md: Unreleased first, then versions, newest
// first and none newer than VERSION, with short entries.
func TestTheChangelogIsKept(t *testing.T) {
	changelog := read(t, "CHANGELOG.md")
	headings := regexp.MustCompile(`(?m)^## .*$`).FindAllString(changelog, -1)
	require.Equal(t, "## [Unreleased]", headings[0])
	newest := numbers(t, strings.Split(strings.TrimSpace(read(t, "VERSION")), "."))
	for i, heading := range headings[1:] {
		m := release.FindStringSubmatch(heading)
		require.NotNil(t, m, "%s is no version with its date", heading)
		version := numbers(t, m[1:])
		order := slices.Compare(version, newest)
		require.True(t, order < 0 || i == 0 && order == 0, "%s comes after %v", heading, newest)
		newest = version
	}
	require.Greater(t, len(headings), 1)
	for _, m := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(changelog, -1) {
		require.Contains(t, []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}, m[1])
	}
	for entry := range strings.SplitSeq(changelog, "\n- ") {
		entry, _, _ = strings.Cut(entry, "\n\n")
		require.LessOrEqual(
			t, strings.Count(entry, "\n"), 3, "an entry is short; the page that it links to has the rest:\n%s", entry,
		)
	}
}

// TestTheReleasedImageIsTheBuiltOne compares the final stages of both Dockerfiles, except for the
// source of the binary.
func TestTheReleasedImageIsTheBuiltOne(t *testing.T) {
	stage := func(file string) (lines []string) {
		text := read(t, file)
		start := strings.LastIndex(text, "\nFROM ")
		require.Positive(t, start, file)
		for line := range strings.Lines(text[start:]) {
			if line != "ARG TARGETPLATFORM\n" && !strings.HasSuffix(line, " /usr/local/bin/livegraph\n") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	require.Equal(t, stage("deploy/Dockerfile"), stage("deploy/Dockerfile.release"))
}

func TestTheHostedChecksAreThoseOfCI(t *testing.T) {
	require.Contains(t, read(t, ".github/workflows/ci.yml"), "run: bash .ci/run\n")
}
