package retrieval

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestMarksAreCheckedAndBelongToTheirSentence(t *testing.T) {
	type sentence struct {
		text      string
		citations []int
	}
	for name, c := range map[string]struct {
		text      string
		want      string
		sentences []sentence
		removed   []int
	}{
		"before the full stop": {
			"It runs [1]. It hums [2][1].", "It runs [1]. It hums [2][1].",
			[]sentence{{"It runs.", []int{0}}, {"It hums.", []int{1, 0}}}, nil,
		},
		"after the full stop": {
			"It runs. [1] It hums.[2] It stops.", "It runs. [1] It hums. [2] It stops.",
			[]sentence{{"It runs.", []int{0}}, {"It hums.", []int{1}}, {"It stops.", nil}}, nil,
		},
		"lists of numbers": {
			"It runs [1, 3; 2]. It hums 【3】. It stops 【1†source】.", "It runs [1][3][2]. It hums [3]. It stops [1].",
			[]sentence{{"It runs.", []int{0, 2, 1}}, {"It hums.", []int{2}}, {"It stops.", []int{0}}}, nil,
		},
		"twice": {"It [1] runs [1].", "It [1] runs [1].", []sentence{{"It runs.", []int{0}}}, nil},
		"of no passage": {
			"It runs [4]. It hums [0, 2] [99999999999999999999]. It stops [4][1].", "It runs. It hums [2]. It stops [1].",
			[]sentence{{"It runs.", nil}, {"It hums.", []int{1}}, {"It stops.", []int{0}}}, []int{4, 0},
		},
		"at the begin of a line": {
			"[1] It runs.\n- [2] It hums.\n[3]", "[1] It runs.\n- [2] It hums. [3]",
			[]sentence{{"It runs.", []int{0}}, {"It hums.", []int{1, 2}}}, nil,
		},
		"no marks": {"It runs.", "It runs.", []sentence{{"It runs.", nil}}, nil},
		"brackets that are none": {
			"It [runs] [a1] [] [1.5].", "It [runs] [a1] [] [1.5].", []sentence{{"It [runs] [a1] [] [1.5].", nil}}, nil,
		},
		"marks in marks": {
			"It runs [[9]1]. It hums [[1]2].", "It runs (1). It hums ( [1]2).",
			[]sentence{{"It runs (1).", nil}, {"It hums (2).", []int{0}}}, []int{9},
		},
		"only marks": {"[1] [2]", "", nil, nil},
		"control characters": {
			"It\x00 \x1b[31mruns\u0085 [1].\xff", "It [31mruns [1].\uFFFD",
			[]sentence{{"It [31mruns.\uFFFD", []int{0}}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parseCited(c.text, 3, 10, false)
			require.Equal(t, c.want, got.text)
			require.Equal(t, c.removed, got.removed)
			require.False(t, got.truncated)
			var sentences []sentence
			for _, s := range got.sentences {
				sentences = append(sentences, sentence(s))
			}
			require.Equal(t, c.sentences, sentences)
		})
	}
}

func TestTextsAreCutAfterASentence(t *testing.T) {
	const text = "It runs [1]. It hums. [2] It stops [3]. And it"
	got := parseCited(text, 3, 2, false)
	require.Equal(t, "It runs [1]. It hums. [2]", got.text)
	require.True(t, got.truncated)
	require.Len(t, got.sentences, 2)
	got = parseCited(text, 3, 10, true)
	require.Equal(t, "It runs [1]. It hums. [2] It stops [3].", got.text)
	require.Len(t, got.sentences, 3)
	got = parseCited("And it", 3, 10, true)
	require.Equal(t, "And it", got.text, "the only sentence is kept")
}

// FuzzCited checks that any text of a model has only marks of passages, in it and in its sentences, and is bounded.
func FuzzCited(f *testing.F) {
	for _, text := range []string{
		"It runs [1]. It hums [2][1].", "[1] It runs.\n- [2] It hums.\n[3]", "It runs 【1†a】 [99][0].",
		"[1][2]", "", "[", "\xff[1]",
		"It runs [1\n2].", "[[1]] [1]] x[1]y。[2]", "a. [1] b",
	} {
		f.Add(text, uint8(2), uint8(3), false)
		f.Add(text, uint8(1), uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, text string, passages, sentences uint8, cut bool) {
		if len(text) > 16<<10 || passages == 0 || sentences == 0 {
			return
		}
		c := parseCited(text, int(passages), int(sentences), cut)
		require.LessOrEqual(t, len(c.sentences), int(sentences))
		require.LessOrEqual(t, len(c.removed), maxRemovedMarks)
		require.True(t, utf8.ValidString(c.text))
		for _, s := range c.sentences {
			require.NotEmpty(t, s.text)
			for _, index := range s.citations {
				require.True(t, index >= 0 && index < int(passages))
			}
		}
		for _, m := range c.removed {
			require.True(t, m == 0 || m > int(passages))
		}
		plain, marks, removed := splitMarks(c.text, int(passages))
		require.Empty(t, removed)
		require.LessOrEqual(t, len(plain), len(text)*len("\uFFFD"))
		if len(c.sentences) == 0 {
			require.Empty(t, marks)
			require.Empty(t, c.text)
		}
		require.Equal(t, strings.TrimSpace(c.text), c.text)
	})
}
