package extract_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/extract"
)

func TestHTMLIsReadAsTextWithHeadings(t *testing.T) {
	t.Parallel()
	got := extract.Extract(extract.HTML, `<!doctype html><html><head><title> Pump &amp; Hall </title>
		<style>p { color: red }</style><script>alert("<p>no</p>")</script></head><body>
		<nav><a href="/">Home</a></nav><h1>Pumps</h1><p>Pump&nbsp;7 moves <b>water</b>.<br>It is loud.</p>
		<ul><li>one<li>two</ul><table><tr><td>a</td><td>b</td></tr></table>
		<h2>Main<em>tenance</em></h2><pre>line 1
  line 2</pre><p>End&#0;&#7;.</body></html>`)
	require.Equal(t, "Pump & Hall", got.Title)
	require.Equal(t, "Pumps\nPump 7 moves water.\nIt is loud.\none\ntwo\na b\nMaintenance\nline 1\n  line 2\nEnd\ufffd.",
		strings.ReplaceAll(strings.ReplaceAll(got.Body, "\u00a0", " "), " \n", "\n"))
	require.Len(t, got.Headings, 2)
	for i, name := range []string{"Pumps", "Maintenance"} {
		require.Equal(t, name, got.Headings[i].Text)
		require.True(t, strings.HasPrefix(got.Body[got.Headings[i].At:], name))
	}
	require.Equal(t, "First", extract.Extract(extract.HTML, "<h3>First</h3><p>x").Title, "there is no other title")
}

func TestMarkdownIsReadAsTextWithHeadings(t *testing.T) {
	t.Parallel()
	got := extract.Extract(extract.Markdown, strings.Join([]string{
		"---", `title: "Pump 7"`, "tags: [a]", "---", "", "Pumps", "=====", "",
		"It moves **water** to [Hall *3*](https://example.com/a_(b)), see <https://example.com> and `code_name`.",
		"![a picture](x.png) snake_case _stressed_ <span class=x>tag</span> a < b \\*star\\*", "> quoted",
		"## Parts ##", "| a | b |", "|---|:-:|", "| 1 | 2 |", "***", "```go", "# no heading", "x := a[0]", "```", "### ",
	}, "\n"))
	require.Equal(t, "Pump 7", got.Title)
	require.Equal(t, []string{"Pumps", "Parts"}, []string{got.Headings[0].Text, got.Headings[1].Text})
	for _, h := range got.Headings {
		require.True(t, strings.HasPrefix(got.Body[h.At:], h.Text), "%q", got.Body[h.At:])
	}
	for _, part := range []string{
		"It moves water to Hall 3), see https://example.com and code_name.", "a picture snake_case stressed tag a < b *star*",
		" quoted", "# no heading\nx := a[0]", " 1  2 ",
	} {
		require.Contains(t, got.Body, part)
	}
	require.NotContains(t, got.Body, "```")
	require.NotContains(t, got.Body, "---")
	require.Equal(t, "A", extract.Extract(extract.Markdown, "text\n# A\n# B").Title)
}

func TestTheSupportedContentTypesAreListed(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"text/plain": extract.Plain, "TEXT/HTML; charset=UTF-8": extract.HTML,
		"text/markdown;charset=us-ascii": extract.Markdown,
	} {
		got, err := extract.MediaType(given)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, given := range []string{"", "pdf", "application/pdf", "text/plain; charset=latin1", "text/*", "text/plain; a"} {
		_, err := extract.MediaType(given)
		require.True(t, fault.Is(err, fault.Invalid), given)
		var refused *fault.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, extract.Types(), refused.Details["allowed"])
	}
}

// TestHostileContentIsLinear covers content that makes parsers of trees recurse or work quadratically.
func TestHostileContentIsLinear(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for name, content := range map[string]string{
		"nested elements": strings.Repeat("<div><table><b>", n), "nested quotes": strings.Repeat("> ", n),
		"open brackets": strings.Repeat("[", n), "targets": strings.Repeat("](", n), "images": strings.Repeat("![](", n),
		"tags": strings.Repeat("<a", n), "open comment": "<!--" + strings.Repeat("-", n), "stars": strings.Repeat("*a_", n),
		"attributes": "<a " + strings.Repeat("x=1 ", n) + ">", "references": strings.Repeat("&#1114111;&x", n),
		"skipped": strings.Repeat("<svg>", n), "fences": strings.Repeat("```\n", n),
		"underlines": strings.Repeat("a\n--\n", n),
		"a huge tag": "<" + strings.Repeat("a", 4<<20) + ">", "raw": "<textarea>" + strings.Repeat("</textare", n),
	} {
		for _, media := range extract.Types() {
			began := time.Now()
			got := extract.Extract(media, content)
			require.Less(t, time.Since(began), 10*time.Second, "%s as %s", name, media)
			require.LessOrEqual(t, len(got.Body), 2*len(content))
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, seed := range []string{
		"", "text", "# a\n\nb", "<p>a<b>c", "---\ntitle: x\n---\n", "a\n==\n", "\x00\xff", "[a](b)", "<title>", "```",
		"&amp;&#0;",
		"<pre>\n</pre>", "| - |", "\ufeff# a", "a\r\nb\rc\u2028d", "<h1></h1>", "<h1>a", "\\", "![", "<",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, media := range extract.Types() {
			got := extract.Extract(media, content)
			require.True(t, utf8.ValidString(got.Body))
			require.True(t, utf8.ValidString(got.Title))
			require.LessOrEqual(t, utf8.RuneCountInString(got.Title), 512)
			require.NotContains(t, got.Title, "\n")
			for _, text := range []string{got.Body, got.Title} {
				require.False(t, strings.ContainsFunc(text, func(r rune) bool {
					return unicode.IsControl(r) && r != '\n' && r != '\t'
				}))
			}
			previous := 0
			for _, h := range got.Headings {
				require.True(t, h.At >= previous && h.At <= len(got.Body), "%d of %d", h.At, len(got.Body))
				require.NotEmpty(t, h.Text)
				previous = h.At
			}
		}
	})
}
