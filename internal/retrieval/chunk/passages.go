package chunk

import (
	"slices"
)

// Passage is a part of the text of a document, as long as a chunk or longer in very long documents.
type Passage struct {
	Text     string
	From, To int // position in the text, in bytes
}

const (
	// passagesOfFullLength is the number of passages at which they become longer instead of more.
	passagesOfFullLength = 160
	// maxPassageBytes is the maximum size of a passage: less than a description may have.
	maxPassageBytes = 60 << 10
)

// Passages splits the text of a document, which is valid UTF-8, into consecutive passages, which cover it and do not
// overlap. A passage ends before one of the breaks, which are offsets in ascending order such as
// those of headings, or else at the end of a sentence, if one is after two thirds of its length. A
// text of 1 MiB has at most 330 passages. Text without words has none.
func Passages(text string, breaks []int) []Passage {
	words := wordsOf(text)
	length := max(maxChunkWords, (len(words)+passagesOfFullLength-1)/passagesOfFullLength)
	var passages []Passage
	for from := 0; from < len(words); {
		to := passageEnd(words, from, length, breaks)
		p := Passage{From: words[from].from, To: words[to-1].to}
		p.Text = text[p.From:p.To]
		passages = append(passages, p)
		from = to
	}
	return passages
}

// passageEnd returns the end of the passage that begins at a word.
func passageEnd(words []word, from, length int, breaks []int) int {
	limit := from + 1 // of bytes
	for limit < len(words) && limit < from+length+maxTailWords && words[limit].to-words[from].from <= maxPassageBytes {
		limit++
	}
	if limit == len(words) {
		return limit
	}
	limit = min(limit, from+length)
	lowest := from + (limit-from)*2/3
	for to := limit; to > lowest; to-- {
		if startsAt(words[to-1].to, words[to].from, breaks) {
			return to
		}
	}
	for to := limit; to > lowest; to-- {
		if words[to-1].endsSentence {
			return to
		}
	}
	return limit
}

// startsAt reports whether one of the breaks is between two offsets.
func startsAt(from, to int, breaks []int) bool {
	first, _ := slices.BinarySearch(breaks, from)
	return first < len(breaks) && breaks[first] <= to
}
