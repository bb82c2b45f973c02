// Package links finds mentions of nodes in texts: where a text contains the name of another node.
//
// It is pure. The names are looked up by the caller, for all spans of a text that may be names.
package links

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

const (
	// MaxTargets is the maximum number of nodes to which one text is linked: those that it mentions
	// first.
	MaxTargets = 100
	// MaxNamesakes is the maximum number of nodes of a name. A name of more nodes identifies none.
	MaxNamesakes = 3
	// AliasesKey is the property with further names of a node, an array of strings.
	AliasesKey = "aliases"
	maxAliases = 20
)

// Name is a name of a node.
type Name struct {
	Key string // see lexical.NameKey
	// Alias reports whether it is not the node's full name. A full name precedes aliases of others.
	Alias bool
	// Capital reports whether a mention must begin with a capital letter: the name does, and has no digit.
	// Otherwise "this time" would mention a song.
	Capital bool
}

// NamesOf returns the names of a node: its name, the name without an explanation in parentheses at the
// end, unless that is a single word, which most often means something else, and its aliases. A passage
// has none, because it is a part of what its document's name means.
func NamesOf(n *graph.Node) []Name {
	if mark := document.MarkOf(n); mark != nil && mark.Passage != nil {
		return nil
	}
	var names []Name
	add := func(text string, alias bool) {
		key := lexical.NameKey(text)
		if key == "" || slices.ContainsFunc(names, func(n Name) bool { return n.Key == key }) {
			return
		}
		names = append(names, Name{
			Key: key, Alias: alias, Capital: lexical.StartsCapital(text) && !strings.ContainsFunc(text, unicode.IsDigit),
		})
	}
	add(n.Name, false)
	if plain, explained := withoutExplanation(n.Name); explained && strings.Contains(lexical.NameKey(plain), " ") {
		add(plain, true)
	}
	var aliases []string
	if raw := n.Properties[AliasesKey]; raw != nil && json.Unmarshal(raw, &aliases) == nil {
		for _, alias := range aliases[:min(len(aliases), maxAliases)] {
			add(alias, true)
		}
	}
	return names
}

// withoutExplanation returns "X" for "X (film)".
func withoutExplanation(name string) (plain string, explained bool) {
	name = strings.TrimSpace(name)
	open := strings.LastIndexByte(name, '(')
	if open <= 0 || !strings.HasSuffix(name, ")") {
		return name, false
	}
	plain = strings.TrimSpace(name[:open])
	return plain, plain != ""
}

// Owner is a node that has a name.
type Owner struct {
	Node uuid.UUID
	Name
}

// Mention is a node that a text mentions.
type Mention struct {
	Target   uuid.UUID
	Text     string // the first mention
	From, To int    // its position in the text, in bytes
	Count    int    // mentions
	key      string // of the name
	// Weight is the certainty that the text means this node: 1, or less if other nodes have the name.
	Weight float64
}

// Keys returns the keys of all spans that may be names, some of them several times.
func Keys(spans [][]lexical.Span) []string {
	var keys []string
	for _, at := range spans {
		for _, s := range at {
			if keys = append(keys, s.Key); s.Singular != "" {
				keys = append(keys, s.Singular)
			}
		}
	}
	return keys
}

// Mentions returns the nodes that a text mentions, in order. Where several names are in the same place,
// the longest counts. owners has the nodes by the keys of their names. own has the names of the node
// with the text: there, they mean that node, and not another one with the same name.
func Mentions(text string, spans [][]lexical.Span, owners map[string][]Owner, own []Name) []Mention {
	var mentions []Mention
	index := map[uuid.UUID]int{}
	end := 0
	for _, at := range spans {
		for i := range at {
			s := &at[i]
			if s.From < end {
				continue
			}
			if slices.ContainsFunc(own, func(n Name) bool { return n.Key == s.Key }) {
				end = s.To
				break
			}
			found := ownersOf(text, s, owners)
			if len(found) == 0 {
				continue
			}
			end = s.To
			for _, o := range found {
				if known, ok := index[o.Node]; ok {
					mentions[known].Count++
				} else if len(mentions) < MaxTargets {
					index[o.Node] = len(mentions)
					mentions = append(mentions, Mention{
						Target: o.Node, Text: text[s.From:s.To], From: s.From, To: s.To, Count: 1, Weight: 1 / float64(len(found)),
						key: o.Key,
					})
				}
			}
			break
		}
	}
	return mentions
}

// ownersOf returns the nodes that a span can mean, nil if there are none or too many.
func ownersOf(text string, s *lexical.Span, owners map[string][]Owner) []Owner {
	for _, key := range []string{s.Key, s.Singular} {
		if key == "" {
			continue
		}
		var full, aliases []Owner
		for _, o := range owners[key] {
			switch {
			case o.Capital && (!s.Capital || isPartOfName(text, s)):
			case o.Alias:
				aliases = append(aliases, o)
			default:
				full = append(full, o)
			}
		}
		if len(full) == 0 {
			full = aliases
		}
		if len(full) > MaxNamesakes {
			return nil
		}
		if len(full) > 0 {
			slices.SortFunc(full, func(a, b Owner) int { return bytes.Compare(a.Node[:], b.Node[:]) })
			return full
		}
	}
	return nil
}

// isPartOfName reports whether a span of capitalised words seems to be a part of a longer name that no node
// has: a single word beside another capitalised one, as in "Los Angeles" or "Roman Empire", two words
// before one, or one or two words that a particle connects with a capitalised one, as in "Anna da Silva".
func isPartOfName(text string, s *lexical.Span) bool {
	if s.Words > 2 {
		return false
	}
	next, rest := nextWord(text[s.To:])
	if startsUpper(next) {
		return true
	}
	if afterNext, _ := nextWord(rest); isParticle(next) && startsUpper(afterNext) {
		return true
	}
	previous, before := previousWord(text[:s.From])
	if isParticle(previous) {
		beforePrevious, _ := previousWord(before)
		return startsUpper(beforePrevious)
	}
	if s.Words > 1 {
		return false
	}
	if initial, dotted := strings.CutSuffix(previous, "."); dotted && utf8.RuneCountInString(initial) <= 2 {
		previous = initial
	}
	last, _ := utf8.DecodeLastRuneInString(previous)
	return startsUpper(previous) && unicode.IsLetter(last)
}

// particles connect the parts of personal names.
var particles = []string{
	"bin", "bint", "da", "de", "del", "della", "der", "di", "do", "dos", "du", "ibn", "la", "le", "van", "von",
}

func isParticle(word string) bool { return slices.Contains(particles, word) }

// nextWord returns the word that a space separates from the text before, and what follows it. Empty: the
// text does not begin with a space.
func nextWord(text string) (word, rest string) {
	text, spaced := strings.CutPrefix(text, " ")
	if !spaced {
		return "", ""
	}
	text = text[:min(len(text), maxNeighbour)]
	if end := strings.IndexAny(text, " \n"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// previousWord returns the word that a space separates from the text after, and what is before it.
func previousWord(text string) (word, before string) {
	text, spaced := strings.CutSuffix(text, " ")
	if !spaced {
		return "", ""
	}
	text = text[max(0, len(text)-maxNeighbour):]
	start := strings.LastIndexAny(text, " \n\"(") + 1
	return text[start:], text[:start]
}

// maxNeighbour is the number of bytes beside a span that are searched for a word.
const maxNeighbour = 64

func startsUpper(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(r)
}
