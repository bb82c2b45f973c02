// Package lexical turns texts into what they are found by: the terms of a node and
// of a query, and the names that a query may hold.
//
// It knows no language and takes every script. Text is cut where letters and digits
// end; each word is brought to one form (compatibility forms resolved, lower case,
// without diacritics where they are spelling and not letters, English plurals and
// singulars alike). Scripts that are written without spaces, as Chinese, Japanese or
// Thai, are cut into overlapping pairs of characters. What is written together but
// has parts, as cpu0, node-7, 10.0.0.1 or diskUsage, is a term as a whole and in its
// parts. No word is left out for being frequent: ranking sees how rare each is.
//
// Everything here is pure, and bounded by the constants below, whatever the text. A
// change of what it gives for a text requires a rise of Version: what is stored was made
// by an older one.
package lexical

import (
	"github.com/livegraph/livegraph/internal/graph"
)

// Version of the analysis. Texts that were analysed by another are analysed again.
const Version = 1

// Bounds.
const (
	// bytes of a node's text that are looked at: the name twice, description, properties, in that order
	MaxText       = 64 << 10
	MaxTermBytes  = 64   // of a term; a longer one is cut there
	MaxTerms      = 4096 // different terms of a node: the first ones
	MaxQueryTerms = 256  // different terms of a query: the first ones

	// A name in the query has at most so many words, or, without spaces, characters.
	// Names of more are found when they are the whole query.
	nameWords      = 8
	nameCharacters = 16
	maxNameUnits   = 64
	maxNameBytes   = 512
	// queryUnits is how many words of a query are searched for names.
	queryUnits = 512
	maxNames   = 4096
	// Names of less stand in every text by chance.
	minNameCharacters = 3
	minNameIdeographs = 2
)

// Document is a node as it is searched.
type Document struct {
	Name        string
	Description string
	Properties  graph.Properties
}

// Term is a term, and how often it is there.
type Term struct {
	Text  string // at most MaxTermBytes, valid UTF-8, never empty
	Count int    // at least 1; of a node, a word of its name counts twice
}

// Terms are what a node is found by.
type Terms struct {
	List   []Term // by text, each once
	Length int    // sum of the counts
	Name   string // the key of the node's name, see NameKey; empty: it has none
}

// Query is a text as it is searched for.
type Query struct {
	Terms []Term // in order of appearance, each once
	// Prefix is the last word when the text ends with it and it may be unfinished: the
	// beginning of a term. Empty: there is none.
	Prefix string
	Name   string // the key of the whole text, see NameKey; empty: no name is that long
	Names  []Name // what in the text may be a name, each place of it
}

// Name is a part of a query that may be the name of a node.
type Name struct {
	Key      string // see NameKey
	From, To int    // which words of the query, To exclusive
}

// Analyse returns what a node is found by.
func Analyse(d Document) Terms {
	c := collector{seen: map[string]int{}, most: MaxTerms, left: MaxText}
	c.add(d.Name)
	c.add(d.Name) // twice: a word counts for more in the name than elsewhere
	c.add(d.Description)
	c.addProperties(d.Properties)
	return Terms{List: c.sorted(), Length: c.length, Name: NameKey(d.Name)}
}

// Parse reads a query. Of one that has neither letters nor digits it finds nothing.
func Parse(text string) Query {
	text = text[:cut(text, MaxText)]
	var units []unit
	kept := func(yield func(unit) bool) {
		for u := range scan(text) {
			if u.kind != wholeKind {
				units = append(units, u)
			}
			if !yield(u) {
				return
			}
		}
	}
	c := collector{seen: map[string]int{}, most: MaxQueryTerms}
	termsOf(kept, false, c.count)
	q := Query{Terms: c.terms}
	if n := len(units); n > 0 && units[n-1].to == len(text) {
		q.Prefix = prefix(units)
	}
	q.Name, q.Names = names(units)
	return q
}

// prefix is the last word as terms begin with it.
func prefix(units []unit) string {
	last := units[len(units)-1]
	if last.kind == characterKind || len(last.text) < 2 {
		return ""
	}
	return clip(last.text)
}
