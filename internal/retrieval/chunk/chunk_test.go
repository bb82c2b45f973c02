package chunk_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
)

func TestAShortNodeIsOneChunk(t *testing.T) {
	got := chunk.Split("Pump 7", "Feeds  the boiler.\n\nLoud.", graph.Properties{
		"maker": []byte(`"KSB"`), "tags": []byte(`["wet",3," ","old"]`), "rpm": []byte(`1450`), "nested": []byte(`{"a":"b"}`),
	})
	require.Equal(
		t, []chunk.Chunk{{Text: "Pump 7\nFeeds the boiler. Loud.\nmaker: KSB tags: wet, old", From: 0, To: 25}}, got,
	)
}

func TestANodeWithANameAloneIsThatName(t *testing.T) {
	require.Equal(t, []chunk.Chunk{{Text: "Pump 7"}}, chunk.Split("Pump 7", "", nil))
}

func TestALongDescriptionIsCutWhereSentencesEnd(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "Sentence number %d says that all is well here. ", i)
	}
	chunks := chunk.Split("Log", text.String(), nil)
	requireValid(t, "Log", text.String(), chunks)
	require.Greater(t, len(chunks), 5)
	for i, c := range chunks {
		require.True(t, strings.HasPrefix(strings.TrimPrefix(c.Text, "Log\n"), "Sentence number"), c.Text)
		require.True(t, strings.HasSuffix(c.Text, "here."), c.Text)
		if i > 0 {
			require.Less(t, c.From, chunks[i-1].To, "chunks overlap")
		}
	}
}

func TestPropertiesThatDoNotFitAreChunksOfTheirOwn(t *testing.T) {
	text := strings.Repeat("word ", 170)
	chunks := chunk.Split("N", text, graph.Properties{"note": []byte(`"` + strings.Repeat("more ", 100) + `"`)})
	require.Len(t, chunks, 2)
	require.Equal(t, chunks[1].From, chunks[1].To)
	require.True(t, strings.HasPrefix(chunks[1].Text, "note: more"))
}

// requireValid checks the invariants of the chunks of any text.
func requireValid(t require.TestingT, name, description string, chunks []chunk.Chunk) {
	require.NotEmpty(t, chunks)
	require.LessOrEqual(t, len(chunks), 500)
	covered := 0
	for i, c := range chunks {
		require.Equal(t, i, c.Index)
		require.LessOrEqual(t, len(c.Text), 48<<10)
		require.True(t, utf8.ValidString(c.Text))
		require.LessOrEqual(t, c.From, covered, "no gap between two chunks")
		require.LessOrEqual(t, c.From, c.To)
		require.LessOrEqual(t, c.To, len(description))
		if utf8.ValidString(description) {
			require.True(t, utf8.ValidString(description[c.From:c.To]), "cut at the borders of runes")
			require.Contains(t, squeeze(c.Text), squeeze(description[c.From:c.To]), "the offsets are those of the text")
		}
		if c.To > c.From && i > 0 {
			require.Greater(t, c.To, chunks[i-1].To, "each chunk ends after the previous one")
			require.Greater(t, c.From, chunks[i-1].From)
		}
		covered = max(covered, c.To)
	}
	if len(description) <= graph.MaxDescription {
		require.Equal(t, len(description), covered, "all is covered")
	}
	require.True(t, strings.HasPrefix(squeeze(chunks[0].Text), squeeze(strings.ToValidUTF8(name, "\uFFFD"))))
	require.Equal(t, chunks, chunk.Split(name, description, nil), "the same again")
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// scripts are the alphabets of random texts.
var scripts = [][]rune{
	[]rune("abcdefghij   .!?\n"), []rune("äöüß éñ . "), []rune("漢字仮名の試験。、"), []rune("ひらがなカタカナ"),
	[]rune("สวัสดีครับ"), []rune("مرحبا بالعالم؟ "), []rune("привет мир. "), []rune("안녕 하세요. "),
	[]rune("😀👩‍🚀🇩🇪 "), []rune("!!!...???"), []rune(" \t\n\u00a0\u3000"), []rune("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
	[]rune("हिन्दी। "),
}

func TestChunksCoverAnyText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var b strings.Builder
		for b.Len() < random.IntN(1<<(4+random.IntN(12)))+1 {
			script := scripts[random.IntN(len(scripts))]
			for range random.IntN(300) {
				b.WriteRune(script[random.IntN(len(script))])
			}
		}
		text := b.String()
		if len(text) > graph.MaxDescription {
			text = strings.ToValidUTF8(text[:graph.MaxDescription], "")
		}
		requireValid(t, "name of it", text, chunk.Split("name of it", text, nil))
	}
}

func TestTheLargestTextsStayBounded(t *testing.T) {
	for _, unit := range []string{"a ", "a", " ", "漢", "。", "!", "😀", "\n", "a.\n", "\xff", "a\xff "} {
		text := strings.Repeat(unit, graph.MaxDescription/len(unit))
		requireValid(t, "n", text, chunk.Split("n", text, nil))
	}
	long := strings.Repeat("é", graph.MaxDescription)
	require.LessOrEqual(t, chunk.Split("n", long, nil)[0].To, graph.MaxDescription)
}

func FuzzSplit(f *testing.F) {
	f.Add("Pump", "It pumps. It hums.", `"a"`)
	f.Add("漢字", strings.Repeat("漢字。", 500), `["b"]`)
	f.Add("", "\xff\xfe", `{}`)
	f.Fuzz(func(t *testing.T, name, description, value string) {
		requireValid(t, name, description, chunk.Split(name, description, nil))
		with := chunk.Split(name, description, graph.Properties{"key": []byte(value)})
		require.GreaterOrEqual(t, len(with), len(chunk.Split(name, description, nil)))
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("The pump feeds the boiler of hall three. ", 20)
	for b.Loop() {
		chunk.Split("Pump", text, nil)
	}
}
