// Package chunk splits the text of a node into parts that an embedder can read
// completely: the vector of a long text represents no part of it well, and the input of
// models is limited.
//
// The same node always has the same chunks, so comparing chunks detects changes. They are
// bounded in number and size for any text.
package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// Chunk is a part of a node's text.
type Chunk struct {
	Index int    // from 0
	Text  string // to embed, with sequences of white space as single spaces
	// From and To are the position of the part in the description, in bytes. They are
	// equal if it has only the name or properties.
	From, To int
}

// Sizes, in words as wordsOf counts them. A model that reads 256 word pieces reads about
// 190 English words.
const (
	maxChunkWords   = 180 // length of a full chunk
	maxTailWords    = 20  // a remainder of at most this length is added to the last chunk
	minChunkWords   = 120 // a chunk ends at the last sentence that ends after this length, if any
	overlapWords    = 25  // words that a chunk shares with the previous one
	maxOverlapWords = 45  // maximum of shared words, to begin with a sentence
)

const (
	maxDescription = graph.MaxDescription // bytes that are read
	maxProperties  = 4 << 10              // bytes of text
)

// Split splits the text of a node. The first chunk begins with the name; string
// properties come last, each with its name. There is at least one chunk. Together the
// chunks cover the description.
func Split(name, description string, properties graph.Properties) []Chunk {
	description = truncate.Bytes(description, maxDescription)
	chunks := splitDescription(description)
	chunks[0].Text = join(strings.Join(strings.Fields(toValidUTF8(name)), " "), chunks[0].Text)
	for _, part := range splitProperties(properties) {
		last := &chunks[len(chunks)-1]
		if countWords(last.Text)+countWords(part) <= maxChunkWords {
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
		to := chunkEnd(words, from)
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
		from = nextStart(words, to)
	}
}

// chunkEnd returns the end of the chunk that begins at a word: the end of a sentence if one
// ends shortly before maxChunkWords.
func chunkEnd(words []word, from int) int {
	if len(words)-from <= maxChunkWords+maxTailWords {
		return len(words)
	}
	for to := from + maxChunkWords; to > from+minChunkWords; to-- {
		if words[to-1].endsSentence {
			return to
		}
	}
	return from + maxChunkWords
}

// nextStart returns the start of the chunk after one that ends at a word: the beginning of a
// sentence if one is near. The chunks overlap, so that text at the boundary is complete in
// one of them.
func nextStart(words []word, to int) int {
	for from := to - maxOverlapWords; from < to; from++ {
		if words[from-1].endsSentence {
			return from
		}
	}
	return to - overlapWords
}

// splitProperties returns the text of the string properties in parts of at most
// maxChunkWords.
func splitProperties(properties graph.Properties) []string {
	text := truncate.Bytes(propertyText(properties), maxProperties)
	words := wordsOf(text)
	var parts []string
	for len(words) > 0 {
		n := min(len(words), maxChunkWords)
		parts = append(parts, collapse(text, words[:n]))
		words = words[n:]
	}
	return parts
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func toValidUTF8(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
