package paraphrases

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// stopWords are words without a meaning for the topic of a text.
const stopWords = `a all an and any are at be before being by can each every for from get gets has her his how in into
	is it its keeps makes more must near no not of on one or our out over place same so somebody something than that
	the their them there they this to too under until up was what when where whenever which who with without`

func TestThePairsHaveNoContentWordInCommon(t *testing.T) {
	list, err := Pairs()
	require.NoError(t, err)
	require.Len(t, list, 50)
	for _, p := range list {
		described := contentWords(p.Name + " " + p.Description)
		for _, word := range contentWords(p.Query) {
			require.NotContains(t, described, word, "%s: %s", p.Name, p.Query)
		}
	}
}

// contentWords returns the words of text that are not stop words, without the most common endings.
func contentWords(text string) (words []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if slices.Contains(strings.Fields(stopWords), word) {
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
