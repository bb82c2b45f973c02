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
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// occurrence is an occurrence of a term in a text.
type occurrence struct {
	Term     string
	From, To int // bytes, To exclusive
}

// yieldTerms yields the terms of units. A text has single Han characters in addition to the
// pairs (singles), so that a query of one character finds it. A query has a single character
// only if it is not part of a pair.
func yieldTerms(units iter.Seq[unit], singles bool, yield func(occurrence) bool) {
	var last unit
	pending := false // last is a character that is in no term yet
	emit := func(u unit, from int, term string) bool {
		return yield(occurrence{Term: clip(term), From: from, To: u.to})
	}
	for u := range units {
		if pending && !u.joined && !emit(last, last.from, last.text) {
			return
		}
		if pending = false; u.kind != characterKind {
			if !yieldWord(u, emit) {
				return
			}
			continue
		}
		if u.joined && !emit(u, last.from, last.text+u.text) {
			return
		}
		switch first, _ := utf8.DecodeRuneInString(u.text); {
		case !singles || !unicode.Is(unicode.Han, first):
			pending = !u.joined
		case !emit(u, u.from, u.text):
			return
		}
		last = u
	}
	if pending {
		emit(last, last.from, last.text)
	}
}

func yieldWord(u unit, emit func(u unit, from int, term string) bool) bool {
	term := u.text
	if u.kind == wordKind {
		term = stem(term)
	}
	if !emit(u, u.from, term) {
		return false
	}
	for _, part := range u.parts {
		if !emit(u, u.from, stem(part)) {
			return false
		}
	}
	return true
}

// collector counts terms.
type collector struct {
	terms     []Term
	seen      map[string]int // index in terms
	length    int
	limit     int // maximum of different terms
	remaining int // bytes of text that may still be read
}

// add counts the terms of a text.
func (c *collector) add(text string) {
	text = truncate.Bytes(text, c.remaining)
	c.remaining -= len(text)
	yieldTerms(scan(text), true, c.count)
}

func (c *collector) count(p occurrence) bool {
	if at, ok := c.seen[p.Term]; ok {
		c.terms[at].Count++
	} else if len(c.terms) < c.limit {
		term := strings.Clone(p.Term) // do not retain the whole text
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
		if c.remaining <= 0 {
			return
		}
		if document.IsMark(key, properties[key]) { // ids and positions are not what the node is about
			continue
		}
		c.add(key)
		c.addValue(properties[key])
	}
}

func (c *collector) addValue(value jsontext.Value) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	for c.remaining > 0 {
		token, err := decoder.ReadToken()
		if err != nil {
			return // the end, or invalid JSON, which the graph does not store
		}
		switch token.Kind() {
		case '"', '0':
			c.add(token.String())
		}
	}
}

// sorted returns the terms sorted by their texts.
func (c *collector) sorted() []Term {
	slices.SortFunc(c.terms, func(a, b Term) int { return cmp.Compare(a.Text, b.Text) })
	return c.terms
}
