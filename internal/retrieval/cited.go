package retrieval

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/livegraph/livegraph/internal/retrieval/chunk"
)

// maxRemovedMarks is the maximum number of removed marks that are reported.
const maxRemovedMarks = 20

// cited is a text by a model, taken apart into sentences and marks of citations.
type cited struct {
	text      string // with the marks that name a passage
	sentences []citedSentence
	removed   []int // numbers of the other marks, each once
	truncated bool  // there are more sentences than allowed, or an incomplete one at the end
}

type citedSentence struct {
	text      string
	citations []int // indexes of passages
}

// mark is a mark of a citation.
type mark struct {
	position int // in the text without marks, in bytes
	index    int // of a passage
}

// parseCited parses a text that cites passages by marks. cut reports that the text ends too early, so that an
// incomplete sentence at its end is dropped.
func parseCited(text string, passages, maxSentences int, cut bool) cited {
	plain, marks, removed := splitMarks(cleanText(text), passages)
	c := cited{removed: removed}
	sentences := chunk.Sentences(plain)
	if n := len(sentences); cut && n > 1 && !sentences[n-1].Complete {
		sentences = sentences[:n-1]
	}
	if len(sentences) > maxSentences {
		sentences, c.truncated = sentences[:maxSentences], true
	}
	if len(sentences) == 0 {
		return c
	}
	for _, s := range sentences {
		c.sentences = append(c.sentences, citedSentence{text: s.Text})
	}
	end := sentences[len(sentences)-1].To
	kept := marks[:0]
	for _, m := range marks {
		at, within := sentenceOf(m, plain, sentences)
		if !within {
			continue // of a sentence that was dropped
		}
		kept = append(kept, m)
		if s := &c.sentences[at]; !slices.Contains(s.citations, m.index) {
			s.citations = append(s.citations, m.index)
		}
	}
	c.text = joinMarks(plain[:end], kept)
	return c
}

// cleanText returns a text as valid UTF-8 without control characters, except for line feeds.
func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// splitMarks returns the text without marks, the marks that name a passage, and the numbers of the others.
func splitMarks(text string, passages int) (plain string, marks []mark, removed []int) {
	var b strings.Builder
	from := 0
	for _, m := range markPattern.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[from:m[0]])
		from = m[1]
		numbers := m[2:4] // of [1], or of 【1】
		if numbers[0] < 0 {
			numbers = m[4:6]
		}
		for digits := range strings.FieldsFuncSeq(text[numbers[0]:numbers[1]], isNoDigit) {
			n, err := strconv.ParseInt(digits, 10, 32)
			switch {
			case err == nil && n >= 1 && n <= int64(passages):
				marks = append(marks, mark{b.Len(), int(n) - 1})
			case err == nil && len(removed) < maxRemovedMarks && !slices.Contains(removed, int(n)):
				removed = append(removed, int(n))
			}
		}
	}
	b.WriteString(text[from:])
	return withoutMarks(b.String()), marks, removed // [[9]1] without [9] would be a mark
}

func isNoDigit(r rune) bool { return r < '0' || r > '9' }

// sentenceOf returns the sentence to which a mark belongs: the one before it or around it, or the one after it if the
// mark is the first of a line with text. It returns false if that sentence is not among them.
func sentenceOf(m mark, plain string, sentences []chunk.Sentence) (index int, ok bool) {
	line := plain[strings.LastIndexByte(plain[:m.position], '\n')+1:]
	before := line[:len(line)-len(plain[m.position:])]
	after, _, _ := strings.Cut(plain[m.position:], "\n")
	if strings.Trim(before, " -*•") == "" && strings.TrimSpace(after) != "" {
		for i, s := range sentences {
			if s.To > m.position {
				return i, true
			}
		}
		return 0, false
	}
	last := sentences[len(sentences)-1]
	if strings.TrimSpace(plain[min(last.To, m.position):m.position]) != "" {
		return 0, false
	}
	index = len(sentences) - 1
	for index > 0 && sentences[index].From >= m.position {
		index--
	}
	return index, true
}

// joinMarks returns a text with marks in it, each after the word before it.
func joinMarks(plain string, marks []mark) string {
	var b strings.Builder
	from := 0
	for i, m := range marks {
		position := min(m.position, len(plain))
		b.WriteString(plain[from:position])
		if adjacent := i > 0 && min(marks[i-1].position, len(plain)) == position; !adjacent && !endsWithSpace(b.String()) {
			b.WriteByte(' ')
		}
		b.WriteString("[" + strconv.Itoa(m.index+1) + "]")
		from = position
	}
	b.WriteString(plain[from:])
	return strings.TrimSpace(b.String())
}

func endsWithSpace(text string) bool {
	return text == "" || text[len(text)-1] == ' ' || text[len(text)-1] == '\n'
}
