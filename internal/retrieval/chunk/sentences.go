package chunk

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence is a sentence of a text, a line without an end of a sentence such as a heading, or a part of a sentence
// that is longer than [MaxSentence].
type Sentence struct {
	Text     string // valid UTF-8, with each sequence of white space as a single space
	From, To int    // position in the text, in bytes
	// Complete reports whether it ends with the punctuation of a sentence.
	Complete bool
	// Item reports whether it begins with the mark of a list.
	Item bool
}

// MaxSentence is the maximum length of a sentence in characters. Longer ones are divided between words.
const MaxSentence = 600

const (
	// wrappedLine is the length in characters from which a line is assumed to end because it is full, so that its
	// sentence continues on the next line.
	wrappedLine = 60
	// maxAbbreviation is the maximum length of an abbreviation with full stops inside it, in characters.
	maxAbbreviation = 8
	// closers are characters after the end of a sentence that belong to it; openers precede a word.
	closers = "\"'”’»)]}」』）】"
	openers = "\"'“‘«([{"
	// bullets mark the items of lists.
	bullets = "-*•–—·◦▪"
)

var (
	// titles are abbreviations that a name or another word follows.
	titles = []string{
		"mr", "mrs", "ms", "dr", "prof", "st", "mt", "ft", "gen", "col", "capt", "lt", "sgt", "rev", "hon", "gov", "sen",
		"rep", "pres", "vs", "cf", "al", "approx", "ca", "viz",
	}
	// beforeNumbers are abbreviations only before a number.
	beforeNumbers = []string{
		"no", "nos", "nr", "fig", "figs", "vol", "pp", "ch", "sec", "eq", "art", "jan", "feb", "mar", "apr", "jun", "jul",
		"aug", "sep", "sept", "oct", "nov", "dec",
	}
)

// Sentences splits a text into its sentences. They are consecutive, do not overlap, and contain every word of the text
// except the marks of lists.
func Sentences(text string) []Sentence {
	words := wordsOf(text)
	var list []Sentence
	for from := 0; from < len(words); {
		s := Sentence{}
		for from+1 < len(words) && isBullet(text, words, from) {
			s.Item = true
			from++
		}
		to := sentenceEnd(text, words, from)
		s.From, s.To, s.Text = words[from].from, words[to-1].to, collapse(text, words[from:to])
		last := lastLetter(text[s.From:s.To])
		s.Complete = isSentenceEnd(last) || isFullStop(last)
		list = append(list, s)
		from = to
	}
	return list
}

// sentenceEnd returns the end of the sentence that begins at a word.
func sentenceEnd(text string, words []word, from int) int {
	runes := 0
	for to := from; ; {
		runes += utf8.RuneCountInString(text[words[to].from:words[to].to])
		to++
		if to < len(words) && words[to].from > words[to-1].to {
			runes++ // the white space between them
		}
		if to == len(words) || runes+maxWord > MaxSentence || isBoundary(text, words, from, to) {
			return to
		}
	}
}

// isBoundary reports whether a sentence that begins at word from ends before word to.
func isBoundary(text string, words []word, from, to int) bool {
	last, next := words[to-1], words[to]
	gap := text[last.to:next.from]
	first, _ := utf8.DecodeRuneInString(text[next.from:])
	end := lastLetter(text[words[from].from:last.to])
	switch lines := strings.Count(gap, "\n"); {
	case gap == "":
		return isFullStop(end) && !strings.ContainsRune(closers, first)
	case lines > 1:
		return true
	case lines == 1 && (isBullet(text, words, to) || isSentenceEnd(end) || isFullStop(end)):
		return true
	case lines == 1:
		return !unicode.IsLower(first) && !isWrapped(text[:last.to])
	case !isSentenceEnd(end):
		return isFullStop(end)
	}
	return end != '.' && end != '…' || !unicode.IsLower(first) && !isAbbreviation(text, words[from:to], first)
}

// isWrapped reports whether the last line of a text is so long that its sentence continues on the next line.
func isWrapped(text string) bool {
	return utf8.RuneCountInString(text[strings.LastIndexByte(text, '\n')+1:]) >= wrappedLine
}

// isBullet reports whether a word is the mark of an item of a list: it is the first of its line.
func isBullet(text string, words []word, at int) bool {
	w := words[at]
	r, size := utf8.DecodeRuneInString(text[w.from:])
	if w.from+size != w.to || !strings.ContainsRune(bullets, r) || at+1 < len(words) && words[at+1].from == w.to {
		return false
	}
	return at == 0 || strings.Contains(text[words[at-1].to:w.from], "\n")
}

// isAbbreviation reports whether the full stop after the last word of a sentence does not end it. next is the first
// character of the word after it.
func isAbbreviation(text string, sentence []word, next rune) bool {
	last := sentence[len(sentence)-1]
	w := strings.TrimLeft(text[last.from:last.to], openers)
	w = strings.TrimRight(w, closers)
	w = strings.TrimSuffix(w, ".")
	letters := utf8.RuneCountInString(w)
	first, _ := utf8.DecodeRuneInString(w)
	switch {
	case len(sentence) == 1 && (letters == 1 || strings.Trim(w, "0123456789") == ""):
		return true // the number of an item or of a section
	case letters == 1:
		return unicode.IsLetter(first) // an initial
	case strings.Contains(w, "."):
		return unicode.IsLetter(first) && letters <= maxAbbreviation // such as e.g. and U.S.
	}
	w = strings.ToLower(w)
	return slices.Contains(titles, w) || slices.Contains(beforeNumbers, w) && unicode.IsDigit(next)
}

// lastLetter returns the last character of a text that does not close a quotation or a bracket.
func lastLetter(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, closers))
	return r
}
