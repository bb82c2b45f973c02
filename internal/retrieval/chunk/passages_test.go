package chunk_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
)

func TestAPassageEndsBeforeAHeadingOrAtASentence(t *testing.T) {
	t.Parallel()
	sentence := "The pump moves the water to the hall every single day. " // 11 words
	intro := strings.Repeat(sentence, 13)
	text := intro + "\nMaintenance\n" + strings.Repeat(sentence, 30)
	passages := chunk.Passages(text, []int{strings.Index(text, "Maintenance")})
	require.Equal(t, strings.TrimSpace(intro), passages[0].Text)
	for _, p := range passages {
		require.Equal(t, p.Text, strings.TrimSpace(text[p.From:p.To]))
		require.True(t, strings.HasSuffix(p.Text, "."), p.Text)
	}
	require.Len(t, chunk.Passages("Short.", nil), 1)
	require.Len(t, chunk.Passages(strings.Repeat("word ", 200), nil), 1, "as long as a chunk may be")
	require.Empty(t, chunk.Passages(" \n\t", nil))
}

// TestPassagesCoverAnyTextWithinTheLimits tests texts of short and long words, of scripts without spaces
// and without any end of a sentence.
func TestPassagesCoverAnyTextWithinTheLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			unit := rapid.SampledFrom([]string{
				"a ", "word. ", "\n", "水", "x", "𐍈", strings.Repeat("w", 50) + " ", "é\u0301 ", "。", "\t- ",
			}).Draw(t, "unit")
			b.WriteString(strings.Repeat(unit, rapid.SampledFrom([]int{1, 100, 5_000, 60_000}).Draw(t, "times")))
		}
		text := b.String()
		if len(text) > 1<<20 {
			text = strings.ToValidUTF8(text[:1<<20], "")
		}
		var breaks []int
		for at := 0; at < len(text); at += rapid.IntRange(1, 20_000).Draw(t, "break") + len(text)/50 {
			breaks = append(breaks, at)
		}
		passages := chunk.Passages(text, breaks)
		if len(passages) > document.MaxPassages {
			t.Fatalf("%d passages", len(passages))
		}
		end := 0
		for _, p := range passages {
			if strings.TrimSpace(text[end:p.From]) != "" || p.To <= p.From {
				t.Fatalf("a gap or an overlap before %d", p.From)
			}
			if len(p.Text) > graph.MaxDescription || !utf8.ValidString(p.Text) {
				t.Fatalf("%d bytes", len(p.Text))
			}
			end = p.To
		}
		if strings.TrimSpace(text[end:]) != "" {
			t.Fatalf("the end is missing after %d", end)
		}
	})
}
