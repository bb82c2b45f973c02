package retrieval

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/truncate"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

// Bounds of an answer.
const (
	maxAnswerText    = 256 << 10 // bytes of descriptions that are read, those of the first results
	maxReadSentences = 4_000
	maxCandidateText = 32   // sentences that are embedded and compared
	maxQuestion      = 2048 // bytes of the question that are embedded
	maxEmbeddedName  = 256  // bytes of the name of a node that are embedded
	// maxHeadingWords is the maximum length of a heading.
	maxHeadingWords = 10
	// minFragmentWords is the minimum length of a line that is not a sentence.
	minFragmentWords = 3
)

// questionMarks end questions.
const questionMarks = "?？؟"

// passage is a text from which sentences are chosen. Passages are in the order of the results.
type passage struct {
	name               string
	text               string
	focusFrom, focusTo int       // the part that the vector lane found, in bytes; equal: none
	group              uuid.UUID // the document, or the node
	index              int       // in the document
}

// sentence is a sentence of a passage.
type sentence struct {
	chunk.Sentence
	passage int      // index
	context string   // the heading or the question before it; empty: there is none
	words   []string // normalised
	own     wordSet  // words of the question that it has
	around  wordSet  // those that the name of its node and its context have
	focused bool     // it is in the part that the vector lane found
	share   float64  // of the weight of the words of the question, 0 to 1
	vector  embed.Vector
	cosine  float64 // of its vector and that of the question
	// relevance orders the sentences, 0 to 1.
	relevance float64
	// before and after are its neighbours in the text, without questions and headings; nil: there is none.
	before, after *sentence
}

// wordSet is a set of words of a question, by their indexes.
type wordSet [maxWords / 64]uint64

func (s *wordSet) add(index int)      { s[index/64] |= 1 << (index % 64) }
func (s *wordSet) has(index int) bool { return s[index/64]&(1<<(index%64)) != 0 }

// union returns the words that are in either set.
func (s *wordSet) union(other wordSet) wordSet {
	for i := range s {
		other[i] |= s[i]
	}
	return other
}

// candidates are the sentences that may answer a question.
type candidates struct {
	question string
	words    *queryWords
	indexes  map[string]int // of the words of the question that count
	weights  []float64      // of these words, by index
	passages []passage
	list     []*sentence
	embedded bool        // the sentences have vectors
	model    embed.Model // of the vectors
}

// questionWords ask for something, and are no evidence that a sentence answers a question.
var questionWords = []string{"who", "whom", "whose", "what", "which", "when", "where", "why", "how", "does", "did"}

// newCandidates reads the sentences of the passages, and keeps at most maxCandidateText of them by words and rank.
func newCandidates(question string, passages []passage) *candidates {
	c := &candidates{question: question, words: newQueryWords(question), indexes: map[string]int{}, passages: passages}
	for _, word := range slices.Sorted(maps.Keys(c.words.weights)) {
		if !slices.Contains(questionWords, word) {
			c.indexes[word] = len(c.indexes)
		}
	}
	if len(c.indexes) == 0 {
		return c
	}
	remaining := maxAnswerText
	for i := range passages {
		text := truncate.Bytes(passages[i].text, remaining)
		remaining -= len(text)
		c.read(i, text)
	}
	c.weigh()
	c.keepBest()
	return c
}

// read adds the sentences of a text of a passage. Questions and headings are no answers, but the context of the
// sentences after them.
func (c *candidates) read(index int, text string) {
	p := &c.passages[index]
	nameWords := foldedWords(p.name)
	named := c.match(nameWords)
	var context string
	var around wordSet
	var last *sentence
	asked := false // the sentence before is a question
	for _, s := range chunk.Sentences(text) {
		if len(c.list) == maxReadSentences {
			return
		}
		next := &sentence{Sentence: s, passage: index, words: foldedWords(s.Text), around: named}
		next.own = c.match(next.words)
		next.focused = s.From < p.focusTo && s.To > p.focusFrom
		if context != "" && (s.Complete || strings.HasSuffix(context, ":")) {
			next.context, next.around = context, named.union(around)
		}
		ownWords := next.own
		if asked {
			next.own = next.own.union(around) // it says what the question asks
		}
		asked = strings.ContainsRune(questionMarks, lastRune(s.Text))
		if asked || !s.Complete && !s.Item && len(next.words) <= maxHeadingWords {
			context, around = s.Text, ownWords
		}
		if !asked && (s.Complete || c.isInformative(next.words, nameWords)) {
			if last != nil {
				last.after, next.before = next, last
			}
			c.list, last = append(c.list, next), next
		}
	}
}

// lastRune returns the last character of a text.
func lastRune(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// isInformative reports whether a line has a word that is neither in the question nor in the name of the node.
func (c *candidates) isInformative(line, name []string) bool {
	return len(line) >= minFragmentWords && slices.ContainsFunc(line, func(word string) bool {
		_, asked := c.words.match(word)
		return !asked && !slices.Contains(name, word)
	})
}

// foldedWords returns the normalised words of a text.
func foldedWords(text string) (words []string) {
	for word := range lexical.Words(text) {
		words = append(words, word.Text)
	}
	return words
}

// match returns the words of the question that are among the words of a text.
func (c *candidates) match(words []string) (set wordSet) {
	for _, word := range words {
		if asked, ok := c.words.match(word); ok {
			if index, counts := c.indexes[asked]; counts {
				set.add(index)
			}
		}
	}
	return set
}

// texts returns the question and the sentences as they are embedded: with the name of their node and their context,
// which say what pronouns refer to.
func (c *candidates) texts() []string {
	texts := make([]string, 0, 1+len(c.list))
	texts = append(texts, truncate.Bytes(c.question, maxQuestion))
	for _, s := range c.list {
		parts := []string{truncate.Bytes(c.passages[s.passage].name, maxEmbeddedName)}
		if s.context != "" {
			parts = append(parts, s.context)
		}
		texts = append(texts, strings.Join(append(parts, s.Text), ": "))
	}
	return texts
}

// setVectors sets the vectors of texts, by a model.
func (c *candidates) setVectors(model embed.Model, vectors []embed.Vector) {
	c.model = model
	for i, s := range c.list {
		s.vector = vectors[1+i]
		s.cosine = scaledCosine(model, vectors[0], s.vector)
	}
	c.embedded = true
}
