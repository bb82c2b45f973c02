package docs

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

const maxColumns = 120

// generated are the pages that programs write, with a line per table row or measurement.
var generated = map[string]bool{
	"docs/benchmarks.md": true, "docs/soak.md": true, "docs/reliability.md": true, "docs/metrics.md": true,
	"docs/settings.md": true,
}

var (
	fence = regexp.MustCompile("^\\s*(```|~~~)")
	// unbroken are lines that Markdown cannot continue on the next line: tables, headings, link targets.
	unbroken = regexp.MustCompile(`^\s*(\||#|\[[^\]]+\]:)`)
)

func TestLinesOfPagesHaveAtMost120Columns(t *testing.T) {
	lines := 0
	for page, text := range pages(t) {
		if generated[page] {
			continue
		}
		code := false
		for i, line := range strings.Split(text, "\n") {
			if fence.MatchString(line) {
				code = !code
			}
			if code || unbroken.MatchString(line) {
				continue
			}
			lines++
			assert.LessOrEqual(t, utf8.RuneCountInString(line), maxColumns, "%s, line %d", page, i+1)
		}
	}
	assert.Greater(t, lines, 1000)
}
