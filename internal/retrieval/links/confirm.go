package links

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

// Confirm returns the mentions without those of explained names that the text does not confirm. A node is
// called "X (film)" because X has other meanings. So a mention of X means this node only if the text has
// the words of the explanation, too, in any form: "directed" confirms "director". nodes has the targets;
// mentions of others are omitted. text is all that is known of the node that mentions.
func Confirm(text string, mentions []Mention, nodes map[uuid.UUID]graph.Node) []Mention {
	var words []string // of the text, sorted; nil: not needed yet
	meanings := map[int]int{}
	kept := make([]Mention, 0, len(mentions))
	for _, m := range mentions {
		target, exists := nodes[m.Target]
		if !exists {
			continue
		}
		if explanation := explanationFor(&target, m.key); explanation != "" {
			if words == nil {
				words = wordsOf(text)
			}
			if !confirms(words, explanation) {
				continue
			}
		}
		meanings[m.From]++
		kept = append(kept, m)
	}
	for i := range kept {
		kept[i].Weight = 1 / float64(meanings[kept[i].From])
	}
	return kept
}

// explanationFor returns the explanation that the name of a node has and that a key lacks.
func explanationFor(n *graph.Node, key string) string {
	plain, explained := withoutExplanation(n.Name)
	if !explained || lexical.NameKey(plain) != key {
		return ""
	}
	return strings.TrimSpace(n.Name)[len(plain):]
}

func wordsOf(text string) []string {
	words := []string{}
	for w := range lexical.Words(text) {
		words = append(words, w.Text)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// explanationStopWords are words of explanations that confirm nothing.
var explanationStopWords = []string{"and", "born", "from", "the"}

const (
	minExplaining = 3 // characters of a word that explains
	// sharedPrefix is the number of characters at the beginning that words of one family share, if none of
	// them is the beginning of the other.
	sharedPrefix = 5
)

// confirms reports whether sorted words have the words of an explanation in any form, and its numbers.
func confirms(words []string, explanation string) bool {
	for w := range lexical.Words(explanation) {
		length := utf8.RuneCountInString(w.Text)
		if length < minExplaining || slices.Contains(explanationStopWords, w.Text) {
			continue
		}
		if _, found := slices.BinarySearch(words, w.Text); found {
			continue
		}
		if strings.ContainsFunc(w.Text, unicode.IsDigit) || length <= minExplaining {
			return false
		}
		if !slices.ContainsFunc(words, func(other string) bool { return isFamily(w.Text, other) }) {
			return false
		}
	}
	return true
}

// isFamily reports whether two words have the same stem: one is the beginning of the other, or they share
// their first characters.
func isFamily(a, b string) bool {
	if utf8.RuneCountInString(a) > utf8.RuneCountInString(b) {
		a, b = b, a
	}
	if utf8.RuneCountInString(a) <= minExplaining {
		return false
	}
	prefix := []rune(a)
	return strings.HasPrefix(b, string(prefix[:min(len(prefix), sharedPrefix)]))
}
