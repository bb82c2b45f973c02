// Package chunk cuts the text of a node into parts that an embedder takes whole: the
// vector of a long text says little of any part of it, and models read only so much.
//
// The same node always gives the same chunks: what is indexed is told from what is
// new by them. They are bounded in number and size for any text.
package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/internal/graph"
)

// Chunk is a part of a node's text.
type Chunk struct {
	Index int    // from 0
	Text  string // to embed; white space in it is single spaces
	// From and To are where in the description the part is, in bytes; equal: nowhere,
	// it is of the name or the properties alone.
	From, To int
}

// Sizes, in words as package words counts them. A model that reads 256 pieces of words
// has room for about 190 of English.
const (
	full     = 180 // words of a chunk
	tail     = 20  // a rest that is no longer goes with the chunk before it
	earliest = 120 // a chunk ends with a sentence, if one ends after so many words
	overlap  = 25  // words that a chunk has in common with the one before it
	furthest = 45  // and at most, to begin with a sentence
)

const (
	maxDescription = graph.MaxDescription // bytes that are looked at
	maxProperties  = 4 << 10              // bytes of text
)

// Split cuts a node's text. The first chunk begins with the name; string properties
// come last, each with its name. There is at least one chunk. Together the chunks
// cover the description.
func Split(name, description string, properties graph.Properties) []Chunk {
	description = cut(description, maxDescription)
	chunks := splitDescription(description)
	chunks[0].Text = join(strings.Join(strings.Fields(valid(name)), " "), chunks[0].Text)
	for _, part := range splitProperties(properties) {
		last := &chunks[len(chunks)-1]
		if countWords(last.Text)+countWords(part) <= full {
			last.Text = join(last.Text, part)
			continue
		}
		chunks = append(chunks, Chunk{Text: part, From: len(description), To: len(description)})
	}
	for i := range chunks {
		chunks[i].Index = i
	}
	return chunks
}

// splitDescription returns at least one chunk, which may be empty.
func splitDescription(text string) []Chunk {
	words := wordsOf(text)
	var chunks []Chunk
	for from := 0; ; {
		to := end(words, from)
		c := Chunk{From: 0, To: len(text), Text: collapse(text, words[from:to])}
		if from > 0 {
			c.From = words[from].from
		}
		if to < len(words) {
			c.To = words[to].from
		}
		chunks = append(chunks, c)
		if to == len(words) {
			return chunks
		}
		from = next(words, to)
	}
}

// end returns where a chunk ends that begins at a word: at a sentence's end if one is
// near the place where it is full.
func end(words []word, from int) int {
	if len(words)-from <= full+tail {
		return len(words)
	}
	for to := from + full; to > from+earliest; to-- {
		if words[to-1].ends {
			return to
		}
	}
	return from + full
}

// next returns where the chunk after one that ends at a word begins: at a sentence's
// beginning if one is near, so that what stands across the border is in one of both.
func next(words []word, to int) int {
	for from := to - furthest; from < to; from++ {
		if words[from-1].ends {
			return from
		}
	}
	return to - overlap
}

// splitProperties returns the text of the string properties in parts of a chunk's size
// at most.
func splitProperties(properties graph.Properties) []string {
	text := cut(propertyText(properties), maxProperties)
	words := wordsOf(text)
	var parts []string
	for len(words) > 0 {
		n := min(len(words), full)
		parts = append(parts, collapse(text, words[:n]))
		words = words[n:]
	}
	return parts
}

// cut shortens a text to so many bytes, at the border of a rune.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func valid(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
