// Package lexical analyses texts for full-text search. It returns the terms of a node and
// of a query, and the names that a query may contain.
//
// It does not depend on the language and supports every script. Text is split into
// sequences of letters and digits. Each word is normalised: compatibility forms are
// resolved, letters are lower case, diacritics are removed in scripts where users omit
// them in queries, and English plurals become singular. Scripts that are written without spaces,
// such as Chinese, Japanese or Thai, are split into overlapping pairs of characters. A
// compound such as cpu0, node-7, 10.0.0.1 or diskUsage is a term itself, and so are its
// parts. There are no stop words: ranking uses the frequency of each term.
//
// All functions are pure, and bounded by the constants below for any text. A change of their
// results requires a new Version, because stored terms are of an older one.
package lexical

import (
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// Version is the version of the analysis. Texts analysed by another version are analysed
// again.
const Version = 2

// Bounds.
const (
	// bytes of a node's text that are read: the name twice, description, properties, in that order
	MaxText       = 64 << 10
	MaxTermBytes  = 64   // of a term; a longer one is truncated
	MaxTerms      = 4096 // different terms of a node: the first ones
	MaxQueryTerms = 256  // different terms of a query: the first ones

	// Maximum length of a name in a query, in words, or in characters without spaces.
	// Longer names are found only if they are the whole query.
	nameWords      = 8
	nameCharacters = 16
	maxNameUnits   = 64
	maxNameBytes   = 512
	// queryUnits is the maximum number of words of a query that are searched for names.
	queryUnits = 512
	maxNames   = 4096
	// Shorter names occur in any text by chance.
	minNameCharacters = 3
	minNameIdeographs = 2
)

// Document has the fields of a node that are searched.
type Document struct {
	Name        string
	Description string
	Properties  graph.Properties
}

// Term is a term and its frequency.
type Term struct {
	Text  string // at most MaxTermBytes, valid UTF-8, never empty
	Count int    // at least 1; of a node, a word of its name counts twice
}

// Terms are the terms by which a node is found.
type Terms struct {
	List   []Term // sorted by text, each once
	Length int    // sum of the counts
	Name   string // the key of the node's name, see NameKey; empty: it has none
}

// Query is an analysed query.
type Query struct {
	Terms []Term // in order of appearance, each once
	// Prefix is the last word if the text ends with it, because it may be incomplete: the
	// prefix of a term. Empty: there is none.
	Prefix string
	Name   string // the key of the whole text, see NameKey; empty: it cannot be a name
	Names  []Name // parts of the text that may be names, one for each occurrence
}

// Name is a part of a query that may be the name of a node.
type Name struct {
	Key      string // see NameKey
	From, To int    // indexes of words of the query, To exclusive
}

// Analyse returns the terms of a node.
func Analyse(d Document) Terms {
	c := collector{seen: map[string]int{}, limit: MaxTerms, remaining: MaxText}
	c.add(d.Name)
	c.add(d.Name) // twice: a word in the name has a higher weight
	c.add(d.Description)
	c.addProperties(d.Properties)
	return Terms{List: c.sorted(), Length: c.length, Name: NameKey(d.Name)}
}

// Parse analyses a query. The result is empty if it has neither letters nor digits.
func Parse(text string) Query {
	text = truncate.Bytes(text, MaxText)
	var units []unit
	recorded := func(yield func(unit) bool) {
		for u := range scan(text) {
			if u.kind != compoundKind {
				units = append(units, u)
			}
			if !yield(u) {
				return
			}
		}
	}
	c := collector{seen: map[string]int{}, limit: MaxQueryTerms}
	yieldTerms(recorded, false, c.count)
	q := Query{Terms: c.terms}
	if n := len(units); n > 0 && units[n-1].to == len(text) {
		q.Prefix = prefix(units)
	}
	q.Name, q.Names = names(units)
	return q
}

// prefix returns the last word as a prefix of terms.
func prefix(units []unit) string {
	last := units[len(units)-1]
	if last.kind == characterKind || len(last.text) < 2 {
		return ""
	}
	return clip(last.text)
}
