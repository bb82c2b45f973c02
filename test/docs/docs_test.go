// Package docs tests the documentation: link targets, and commands, settings and tests in pages must
// exist.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const top = "../.."

// files returns the content of the repository's files with a suffix, by path from the root.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		other := strings.HasPrefix(name, ".") || name == "bin" || name == "data" || name == "node_modules"
		if entry.IsDir() && path != top && other {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		relative, _ := filepath.Rel(top, path)
		found[relative] = string(text)
		return err
	}))
	return found
}

// pages returns the content of every Markdown page of the repository, by path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := files(t, ".md")
	require.Contains(t, found, "README.md")
	return found
}

var (
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors of a page's headings, in the format of GitHub.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	all := pages(t)
	links := 0
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
				_, err := os.Stat(filepath.Join(top, path))
				require.NoError(t, err, "%s links to %s", page, m[1])
			}
			if anchor != "" {
				require.True(t, anchors(all[path])[anchor], "%s links to %s: no such heading", page, m[1])
			}
		}
	}
	require.Greater(t, links, 20)
}

var (
	code       = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	makeTarget = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	flagName   = regexp.MustCompile(`--([a-z][a-z0-9-]+)`)
	variable   = regexp.MustCompile(`\bLIVEGRAPH_[A-Z_]*[A-Z]\b`)
	// variableTag matches the variable in the tag of a command's flag.
	variableTag = regexp.MustCompile(`env:"LIVEGRAPH_[A-Z_]*[A-Z]"`)
)

func TestEveryMakeTargetOfThePagesExists(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(top, "Makefile"))
	require.NoError(t, err)
	for page, text := range pages(t) {
		for _, snippet := range code.FindAllString(text, -1) {
			for _, m := range makeTarget.FindAllStringSubmatch(snippet, -1) {
				require.Contains(t, string(makefile), "\n"+m[1]+":", "%s names `make %s`", page, m[1])
			}
		}
	}
}

// TestEverySettingOfThePagesExists compares settings in pages with docs/settings.md, which the binary
// generates. Single commands have variables of their own.
func TestEverySettingOfThePagesExists(t *testing.T) {
	settings, err := os.ReadFile(filepath.Join(top, "docs", "settings.md"))
	require.NoError(t, err)
	commands, err := filepath.Glob(filepath.Join(top, "internal", "app", "cli", "*.go"))
	require.NoError(t, err)
	var variables strings.Builder
	variables.Write(settings)
	variables.WriteString("\nLIVEGRAPH_URL LIVEGRAPH_API_KEY LIVEGRAPH_WORKSPACE_ID") // of the examples
	benchmarks, err := filepath.Glob(filepath.Join(top, "test", "bench", "*_test.go"))
	require.NoError(t, err)
	ours := slices.Concat(benchmarks, []string{
		filepath.Join(top, "storage", "postgres", "textindex", "recallbench_test.go"),
		filepath.Join(top, "test", "bench", "record", "record.go"),
		filepath.Join(top, "test", "testenv", "full.go"),
		filepath.Join(top, "test", "testenv", "shards.go"),
	})
	for _, path := range ours { // variables of tests and benchmarks are not settings of the service
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		variables.WriteString("\n" + strings.Join(variable.FindAllString(string(text), -1), "\n"))
	}
	for _, path := range commands {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range variableTag.FindAllString(string(text), -1) {
			variables.WriteString("\n" + m)
		}
	}
	for page, text := range pages(t) {
		if page == "CHANGELOG.md" {
			continue // also contains former settings
		}
		for _, name := range variable.FindAllString(text, -1) {
			require.Regexp(t, `\b`+name+`\b`, variables.String(), "%s names %s", page, name)
		}
		if page != filepath.Join("docs", "operations.md") {
			continue // the other pages contain flags of other tools and commands
		}
		for _, m := range flagName.FindAllStringSubmatch(withoutBlocks(text), -1) {
			require.Contains(t, string(settings), "`--"+m[1]+"`", "%s names --%s", page, m[1])
		}
	}
}

var block = regexp.MustCompile("(?s)```.*?```")

// withoutBlocks removes code blocks, which may use other tools.
func withoutBlocks(text string) string { return block.ReplaceAllString(text, "") }

// TestTheDefaultsThatPagesNameAreThoseOfTheSettings compares defaults in pages with docs/settings.md.
func TestTheDefaultsThatPagesNameAreThoseOfTheSettings(t *testing.T) {
	all := pages(t)
	for flag, named := range map[string]struct{ page, phrase, value string }{
		"metrics-listen":            {"docs/operations.md", "by default 127.0.0.1:9464", "127.0.0.1:9464"},
		"api-shutdown-timeout":      {"docs/operations.md", "`--api-shutdown-timeout`, 8 s", "8s"},
		"ingest-log-full-threshold": {"docs/operations.md", "`--ingest-log-full-threshold` (0.8)", "0.8"},
		"postgres-max-conns":        {"docs/operations.md", "`--postgres-max-conns` connections (16)", "16"},
		"commands-connections":      {"docs/operations.md", "`--commands-connections` (12)", "12"},
		"kafka-retention-bytes":     {"docs/operations.md", "defaults (256 MiB, 8 partitions)", "268435456"},
		"kafka-points-partitions":   {"docs/operations.md", "defaults (256 MiB, 8 partitions)", "8"},
		"listen":                    {"README.md", "export LIVEGRAPH_URL=http://127.0.0.1:8080", "127.0.0.1:8080"},
		"data-dir":                  {"README.md", "under `./data`", "./data"},
	} {
		require.Contains(t, strings.Join(strings.Fields(all[named.page]), " "), named.phrase, named.page)
		require.Contains(t, all["docs/settings.md"], "| `--"+flag+"` |", flag)
		row := regexp.MustCompile(
			"(?m)^\\| `--" + flag + "` \\| [^|]* \\| `([^`]*)` \\|",
		).FindStringSubmatch(all["docs/settings.md"])
		require.NotNil(t, row, flag)
		require.Equal(t, named.value, row[1], "%s says %q", named.page, named.phrase)
	}
}

// TestTheHeadersOfTheTopicsPageAreThoseOfTheRecords compares header names with the code.
func TestTheHeadersOfTheTopicsPageAreThoseOfTheRecords(t *testing.T) {
	source, err := filepath.Glob(filepath.Join(top, "storage/kafka/*.go"))
	require.NoError(t, err)
	used, described := map[string]bool{}, map[string]bool{}
	for _, path := range source {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`Header\w+\s+= "(lg-[a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
	}
	for _, m := range regexp.MustCompile("`(lg-[a-z-]+)`").FindAllStringSubmatch(pages(t)["schemas/topics.md"], -1) {
		described[m[1]] = true
	}
	require.Greater(t, len(described), 5)
	for header := range described {
		require.Contains(t, used, header)
	}
}

var (
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// tests returns the names of all tests and fuzz targets of the repository.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, text := range files(t, "_test.go") {
		for _, m := range declaredTest.FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
	}
	return found
}

// TestEveryTestThatIsNamedExists requires that tests named in pages exist.
func TestEveryTestThatIsNamedExists(t *testing.T) {
	all, found := tests(t), 0
	for page, text := range pages(t) {
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			require.True(t, all[m[1]], "%s names %s", page, m[1])
			found++
		}
	}
	require.Greater(t, found, 100)
}

// TestEveryFuzzTargetIsInThePageOfBadInput requires that the page lists every fuzz target.
func TestEveryFuzzTargetIsInThePageOfBadInput(t *testing.T) {
	text := pages(t)[filepath.Join("docs", "reliability-input.md")]
	for name := range tests(t) {
		if strings.HasPrefix(name, "Fuzz") {
			require.True(t, strings.Contains(text, "`"+name+"`"), name)
		}
	}
}

// TestEachDecisionIsInTheIndex compares the index of decision records with their titles.
func TestEachDecisionIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(top, "docs", "adr", "README.md"))
	require.NoError(t, err)
	records, err := filepath.Glob(filepath.Join(top, "docs", "adr", "0*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, records)
	for _, path := range records {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		heading, _, _ := strings.Cut(string(text), "\n")
		number, title, ok := strings.Cut(strings.TrimPrefix(heading, "# "), ". ")
		require.True(t, ok, "%s: its heading is %q", path, heading)
		require.Contains(t, string(index), "| "+number+" | ["+title+"]("+filepath.Base(path)+") |")
	}
	require.Equal(t, len(records), strings.Count(string(index), "](0"), "an entry of no record")
}
