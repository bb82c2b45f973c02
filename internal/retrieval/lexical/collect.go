package lexical

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/graph"
)

// Place is where in a text a term stands.
type Place struct {
	Term     string
	From, To int // bytes, To exclusive
}

// Places returns the terms of a text in their order and where each stands, of the first
// MaxText bytes: for anyone who shows what was found. A place may have several terms.
func Places(text string) iter.Seq[Place] {
	return func(yield func(Place) bool) { termsOf(scan(text[:cut(text, MaxText)]), true, yield) }
}

// termsOf returns the terms of units. A text has the single characters of Han beside
// the pairs, so that a query of one character finds it; a query has them only where
// they stand alone.
func termsOf(units iter.Seq[unit], singles bool, yield func(Place) bool) {
	var last unit
	alone := false // last is a character that no term has yet
	give := func(u unit, from int, term string) bool { return yield(Place{Term: clip(term), From: from, To: u.to}) }
	for u := range units {
		if alone && !u.joined && !give(last, last.from, last.text) {
			return
		}
		if alone = false; u.kind != characterKind {
			if !ofWord(u, give) {
				return
			}
			continue
		}
		if u.joined && !give(u, last.from, last.text+u.text) {
			return
		}
		switch first, _ := utf8.DecodeRuneInString(u.text); {
		case !singles || !unicode.Is(unicode.Han, first):
			alone = !u.joined
		case !give(u, u.from, u.text):
			return
		}
		last = u
	}
	if alone {
		give(last, last.from, last.text)
	}
}

func ofWord(u unit, give func(u unit, from int, term string) bool) bool {
	term := u.text
	if u.kind == wordKind {
		term = stem(term)
	}
	if !give(u, u.from, term) {
		return false
	}
	for _, part := range u.parts {
		if !give(u, u.from, stem(part)) {
			return false
		}
	}
	return true
}

// collector counts terms.
type collector struct {
	terms  []Term
	seen   map[string]int // place in terms
	length int
	most   int // different terms
	left   int // bytes of text that are still looked at
}

// add counts the terms of a text.
func (c *collector) add(text string) {
	text = text[:cut(text, c.left)]
	c.left -= len(text)
	termsOf(scan(text), true, c.count)
}

func (c *collector) count(p Place) bool {
	if at, ok := c.seen[p.Term]; ok {
		c.terms[at].Count++
	} else if len(c.terms) < c.most {
		term := strings.Clone(p.Term) // not the whole text for the sake of a word
		c.seen[term] = len(c.terms)
		c.terms = append(c.terms, Term{Text: term, Count: 1})
	} else {
		return true
	}
	c.length++
	return true
}

// addProperties counts the terms of keys, strings and numbers, at any depth.
func (c *collector) addProperties(properties graph.Properties) {
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if c.left <= 0 {
			return
		}
		c.add(key)
		c.addValue(properties[key])
	}
}

func (c *collector) addValue(value jsontext.Value) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	for c.left > 0 {
		token, err := decoder.ReadToken()
		if err != nil {
			return // the end, or not JSON: the graph holds none such
		}
		switch token.Kind() {
		case '"', '0':
			c.add(token.String())
		}
	}
}

// sorted returns the terms by their texts.
func (c *collector) sorted() []Term {
	slices.SortFunc(c.terms, func(a, b Term) int { return cmp.Compare(a.Text, b.Text) })
	return c.terms
}
