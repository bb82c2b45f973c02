package paraphrases

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// grammar are words that say nothing of what a text is about.
const grammar = `a all an and any are at be before being by can each every for from get gets has her his how in into is
	it its keeps makes more must near no not of on one or our out over place same so somebody something than that the
	their them there they this to too under until up was what when where whenever which who with without`

func TestThePairsHaveNoContentWordInCommon(t *testing.T) {
	list, err := Pairs()
	require.NoError(t, err)
	require.Len(t, list, 50)
	for _, p := range list {
		said := content(p.Name + " " + p.Description)
		for _, word := range content(p.Query) {
			require.NotContains(t, said, word, "%s: %s", p.Name, p.Query)
		}
	}
}

// content returns the words that are no grammar, without the commonest endings.
func content(text string) (words []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if slices.Contains(strings.Fields(grammar), word) {
			continue
		}
		for _, ending := range []string{"ing", "ers", "er", "ed", "es", "s", "ly"} {
			if stem, cut := strings.CutSuffix(word, ending); cut && len(stem) >= 3 {
				word = stem
				break
			}
		}
		words = append(words, word)
	}
	return words
}
