package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unchecked lists generated pages, and pages that still contain words of the list.
var unchecked = []string{
	"docs/benchmarks.md", "docs/reliability.md", "docs/reliability-input.md", "docs/soak.md",
}

// isChecked reports whether a Go file is checked. Generated files and tests are not: tests contain
// texts as users may write them.
func isChecked(path string) bool {
	return !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".pb.go") &&
		!strings.HasSuffix(path, ".gen.go") && !strings.HasPrefix(path, "test/")
}

// word is an expression that must not be used, and its replacement.
type word struct {
	pattern *regexp.Regexp
	instead string
}

// lineBreak matches the end of a line, with the indent and the comment mark of the next one.
const lineBreak = `[ \t]*\n[ \t]*(?:(?://+|\*|#+|>)[ \t]*)?`

var linkTarget = regexp.MustCompile(`\]\([^)\n]*\)`)

// wordList reads words.txt. A phrase may span two lines.
func wordList(t *testing.T) (words []word) {
	t.Helper()
	text, err := os.ReadFile("words.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, instead, found := strings.Cut(line, " => ")
		require.True(t, found, "words.txt: %s", line)
		phrase := strings.ReplaceAll(pattern, " ", `(?: +|`+lineBreak+`)`)
		words = append(words, word{regexp.MustCompile("(?i)" + phrase), instead})
	}
	require.NotEmpty(t, words)
	return words
}

// requireWords reports each use of a listed word in a text.
func requireWords(t *testing.T, words []word, path, text string) {
	t.Helper()
	for _, w := range words {
		for _, match := range w.pattern.FindAllStringIndex(text, -1) {
			line := 1 + strings.Count(text[:match[0]], "\n")
			t.Errorf("%s:%d: %q: write %s", path, line, text[match[0]:match[1]], w.instead)
		}
	}
}

func TestWordsOfTheList(t *testing.T) {
	words := wordList(t)
	checked := pages(t)
	maps.DeleteFunc(checked, func(path, _ string) bool { return slices.Contains(unchecked, filepath.ToSlash(path)) })
	for _, suffix := range []string{".ts", ".tsx"} {
		for path, text := range files(t, suffix) {
			if strings.HasPrefix(filepath.ToSlash(path), "web/src/") {
				checked[path] = text
			}
		}
	}
	for path, text := range checked { // file names are not checked
		checked[path] = linkTarget.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("_", len(s)) })
	}
	for path, text := range files(t, ".go") {
		if isChecked(filepath.ToSlash(path)) {
			checked[path] = text
		}
	}
	require.Greater(t, len(checked), 1000)
	for _, path := range slices.Sorted(maps.Keys(checked)) {
		requireWords(t, words, path, checked[path])
	}
}
