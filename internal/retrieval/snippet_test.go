package retrieval

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

const filler = "The hall is long and its floor is grey. Nothing of note is kept in it since the last audit. "

func TestASnippetIsThePassageThatSuitsTheWords(t *testing.T) {
	text := strings.Repeat(filler, 10) + "The pumps of the boiler leak when it freezes. " + strings.Repeat(filler, 10)
	snippet := newQueryWords("why does the boiler's pump leak").snippet(text)
	require.Contains(t, snippet, "The pumps of the boiler leak when it freezes.")
	require.True(t, strings.HasPrefix(snippet, "…The pumps"), snippet)
	require.True(t, strings.HasSuffix(snippet, "…"))
	require.LessOrEqual(t, utf8.RuneCountInString(snippet), snippetRunes)
	require.Greater(t, utf8.RuneCountInString(snippet), 250)
}

func TestASnippetOfAShortTextIsTheText(t *testing.T) {
	require.Equal(t, "a b c", newQueryWords("x").snippet(" a\n\tb  c "))
	require.Equal(t, "", newQueryWords("x").snippet(""))
}

func TestASnippetWithNothingThatSuitsIsTheBeginning(t *testing.T) {
	snippet := newQueryWords("zebra").snippet(strings.Repeat(filler, 10))
	require.True(t, strings.HasPrefix(snippet, "The hall is long"))
}

func TestASnippetAtTheEndIsFilledFromTheFront(t *testing.T) {
	snippet := newQueryWords("leak").snippet(strings.Repeat(filler, 10) + "Pumps leak.")
	require.True(t, strings.HasSuffix(snippet, "Pumps leak."), snippet)
	require.Greater(t, utf8.RuneCountInString(snippet), 250)
}

func TestSnippetsAreCutBetweenWordsInAnyScript(t *testing.T) {
	for name, c := range map[string]struct{ query, text, want string }{
		"Chinese": {"锅炉泵漏水", strings.Repeat("大厅很长地板是灰色的。", 40) + "锅炉的泵在结冰时漏水。" + strings.Repeat("大厅很长地板是灰色的。", 40), "锅炉的泵"},
		"Thai": {
			"ปั๊มน้ำ",
			strings.Repeat("ห้องโถงยาวและพื้นเป็นสีเทา", 30) + " ปั๊มน้ำรั่ว " +
				strings.Repeat("ห้องโถงยาวและพื้นเป็นสีเทา", 30),
			"ปั๊มน้ำ",
		},
		"Greek": {
			"αντλια",
			strings.Repeat("Η αίθουσα είναι μακριά. ", 30) + "Η ΑΝΤΛΊΑ στάζει. " +
				strings.Repeat("Η αίθουσα είναι μακριά. ", 30),
			"ΑΝΤΛΊΑ",
		},
		"accents": {"etage", strings.Repeat(filler, 10) + "Un bruit à l'étage. " + strings.Repeat(filler, 10), "étage"},
		"numbers": {
			"10.0.0.17", strings.Repeat(filler, 10) + "Host 10.0.0.17 is down. " + strings.Repeat(filler, 10), "10.0.0.17",
		},
		"families": {"👨‍👩‍👧‍👦", strings.Repeat("👨‍👩‍👧‍👦", 200), "👨‍👩‍👧‍👦"},
		"one word": {"x", strings.Repeat("a", 5_000), "aaa"},
		"marks":    {"x", strings.Repeat("e\u0301\u0302", 500), "e\u0301\u0302"},
	} {
		snippet := newQueryWords(c.query).snippet(c.text)
		require.Contains(t, snippet, c.want, name)
		requireSnippet(t, c.text, snippet)
	}
}

// requireSnippet checks the invariants of all snippets.
func requireSnippet(t testing.TB, text, snippet string) {
	t.Helper()
	require.LessOrEqual(t, utf8.RuneCountInString(snippet), snippetRunes)
	flat := strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	core := strings.TrimSuffix(strings.TrimPrefix(snippet, "…"), "…")
	require.Contains(t, "…"+flat+"…", core)
	require.Equal(t, flat == "", snippet == "")
}

func TestANodeWithoutADescriptionShowsItsProperties(t *testing.T) {
	hit := &Hit{Node: graph.Node{Properties: graph.Properties{
		"host": jsontext.Value(`"db-1"`), "cores": jsontext.Value(`8`), "area": jsontext.Value(`"hall"`),
	}}}
	require.Equal(t, "area: hall; host: db-1", snippetText(hit))
}

func FuzzSnippet(f *testing.F) {
	f.Add("boiler pump", filler+filler+filler+filler)
	f.Add("锅炉", strings.Repeat("锅炉的泵", 200))
	f.Add("a\u0301", strings.Repeat("a\u0301\u200d", 300))
	f.Add("\U0001F1E9\U0001F1EA", strings.Repeat("\U0001F1E9\U0001F1EA", 200))
	f.Fuzz(func(t *testing.T, query, text string) {
		if !utf8.ValidString(text) || strings.Contains(text, "…") {
			t.Skip() // descriptions are valid
		}
		requireSnippet(t, text, newQueryWords(query).snippet(text))
	})
}
