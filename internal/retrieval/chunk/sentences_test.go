package chunk_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
)

func TestSentencesEndWhereAReaderEndsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, " \n\t": nil, "...": {"..."},
		"It pumps.  It hums!\nDoes it? Yes":           {"It pumps.", "It hums!", "Does it?", "Yes"},
		"Dr. J. R. Smith met Mr. Poe. He left.":       {"Dr. J. R. Smith met Mr. Poe.", "He left."},
		"It weighs approx. 3.5 t, e.g. No. 7. It is.": {"It weighs approx. 3.5 t, e.g. No. 7.", "It is."},
		"Born on Feb. 3 in the U.S. he left. No. Go.": {"Born on Feb. 3 in the U.S. he left.", "No.", "Go."},
		"1. Open it. 2. Close it.":                    {"1. Open it.", "2. Close it."},
		`He said "Stop." Then (it seems.) It did.`:    {`He said "Stop."`, "Then (it seems.)", "It did."},
		"- Oil: 500 h\n* Water: 100 h\nor daily":      {"Oil: 500 h", "Water: 100 h or daily"},
		"Maintenance\n\nOpen the valve":               {"Maintenance", "Open the valve"},
		"Maintenance\nOpen it.":                       {"Maintenance", "Open it."},
		"This line is so long that it was wrapped by the editor at\nAbout 58 characters. Next.": {
			"This line is so long that it was wrapped by the editor at", "About 58 characters.", "Next.",
		},
		"This line is so long that it was wrapped by the text editor at\nAbout 62 characters. Next.": {
			"This line is so long that it was wrapped by the text editor at About 62 characters.", "Next.",
		},
		"水を送る。「止まれ。」次へ！終わり":      {"水を送る。", "「止まれ。」", "次へ！", "終わり"},
		"यह पंप है। यह चलता है।": {"यह पंप है।", "यह चलता है।"},
		"- ": {"-"},
	} {
		var got []string
		for _, s := range chunk.Sentences(text) {
			got = append(got, s.Text)
		}
		require.Equal(t, want, got, text)
	}
	list := chunk.Sentences("Notes\n- It is loud.\n")
	require.Equal(t, []chunk.Sentence{
		{Text: "Notes", From: 0, To: 5}, {Text: "It is loud.", From: 8, To: 19, Complete: true, Item: true},
	}, list)
}

func TestALongSentenceIsDividedBetweenWords(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"word ", "äöü ", "水", "สวัสดี", strings.Repeat("x", 700)} {
		list := chunk.Sentences(strings.Repeat(unit, 2000))
		require.Greater(t, len(list), 2, unit)
		for _, s := range list {
			require.LessOrEqual(t, utf8.RuneCountInString(s.Text), chunk.MaxSentence, unit)
		}
		require.Greater(t, utf8.RuneCountInString(list[0].Text), chunk.MaxSentence/2, unit)
	}
}

func FuzzSentences(f *testing.F) {
	for _, text := range []string{
		"It pumps. It hums.", "Dr. A. Smith (e.g. 3.5) \"left.\" No. 7", "- a\n* b\n\n1. c", "水。「止まれ。」！", "\xff. \xfe",
		"a.b.c. D", "...\n…\u00a0!?", strings.Repeat("long ", 300), "- \n- -\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, s := range chunk.Sentences(text) {
			require.Less(t, s.From, s.To)
			require.True(t, end <= s.From && s.To <= len(text))
			require.True(t, utf8.ValidString(s.Text))
			require.LessOrEqual(t, utf8.RuneCountInString(s.Text), chunk.MaxSentence)
			require.NotEmpty(t, strings.TrimSpace(s.Text))
			if utf8.ValidString(text) {
				require.Equal(t, squeeze(text[s.From:s.To]), squeeze(s.Text))
			}
			require.Empty(t, strings.Trim(squeeze(text[end:s.From]), "-*•–—·◦▪"), "only marks of lists are left out")
			end = s.To
		}
		require.Empty(t, strings.Trim(squeeze(text[end:]), "-*•–—·◦▪"))
	})
}

func TestTheLargestTextsAreSplitInLinearTime(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"a ", "a", ")", ". ", "\n", "a\n", "- \n", "-\n\n", "é.", "(", "a.b.", "。」", "1. ", "x\n- ", "\xff",
	} {
		for _, s := range chunk.Sentences(strings.Repeat(unit, graph.MaxDescription/len(unit))) {
			require.LessOrEqual(t, utf8.RuneCountInString(s.Text), chunk.MaxSentence)
		}
	}
}
