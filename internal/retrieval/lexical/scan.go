package lexical

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a unit.
type kind uint8

const (
	wordKind      kind = iota // letters and digits
	characterKind             // one character of a script without spaces
	compoundKind              // several words with their connectors, such as 10.0.0.1
)

// unit is a normalised part of a text.
type unit struct {
	kind     kind
	text     string // folded, not empty
	parts    []string
	from, to int  // position in the original text, in bytes
	joined   bool // a character that directly follows another
}

// unspaced has the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Yi, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham,
}

// firstUnspaced is a lower bound of the runes of these scripts and of Hangul.
const firstUnspaced = 0x0e00

// IsUnspaced reports whether the script of a rune is written without spaces between words.
func IsUnspaced(r rune) bool { return r >= firstUnspaced && unicode.IsOneOf(unspaced, r) }

// isCharacter reports whether a rune is scanned as a separate unit. Those of unspaced scripts are, and
// Hangul: it has spaces, but suffixes are attached to the word, and pairs also match the word without
// them.
func isCharacter(r rune) bool {
	return IsUnspaced(r) || r >= firstUnspaced && unicode.Is(unicode.Hangul, r)
}

// class is the class of a rune for the scanner.
type class uint8

const (
	separator class = iota
	letter
	character
	mark      // belongs to the character before it
	ignorable // is skipped
	connector // joins words
)

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClass(r)
	}
	switch {
	case r == utf8.RuneError, r == '\u200b': // the latter separates words in scripts without spaces
		return separator
	case r == 'ー', r == '々', r == '〇':
		return character
	case unicode.IsMark(r):
		return mark
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		if isCharacter(r) {
			return character
		}
		return letter
	case unicode.Is(unicode.Cf, r):
		return ignorable
	case r == '‐' || r == '‑' || r == '–':
		return connector
	}
	return separator
}

func asciiClass(r rune) class {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return letter
	case r == '.', r == '_', r == '-', r == '/', r == ':', r == '@', r == '+', r == '#', r == '&', r == '\\':
		return connector
	}
	return separator
}

// scanner splits a text into units.
type scanner struct {
	text    string
	yield   func(unit) bool
	group   []unit // words that are separated only by connectors
	stopped bool
}

// Word is a word of a text, or a character of a script that is written without spaces.
type Word struct {
	Text     string // normalised, not empty
	From, To int    // position in the text, in bytes; To exclusive
}

// Words returns an iterator over the words of a text, in order.
func Words(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		for u := range scan(text) {
			if u.kind != compoundKind && !yield(Word{Text: u.text, From: u.from, To: u.to}) {
				return
			}
		}
	}
}

// scan returns the words and characters of a text in order. After words that are joined by
// connectors it returns the compound.
func scan(text string) iter.Seq[unit] {
	return func(yield func(unit) bool) {
		s := scanner{text: text, yield: yield}
		s.run()
	}
}

func (s *scanner) run() {
	for at := 0; at < len(s.text) && !s.stopped; {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		switch c := classOf(r); {
		case c == letter:
			to := s.wordEnd(at)
			s.word(at, to)
			at = to
		case c == character:
			s.flush()
			at = s.characters(at)
		case c == connector && s.joins(at, size):
			at += size
		default:
			s.flush()
			at += size
		}
	}
	s.flush()
}

// wordEnd returns the end of the word that begins at an index.
func (s *scanner) wordEnd(at int) int {
	for at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		if c := classOf(r); c != letter && c != mark && c != ignorable {
			break
		}
		at += size
	}
	return at
}

// joins reports whether the connector at an index has a word on both sides.
func (s *scanner) joins(at, size int) bool {
	if n := len(s.group); n == 0 || s.group[n-1].to != at {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s.text[at+size:])
	return classOf(next) == letter
}

func (s *scanner) word(from, to int) {
	raw := s.text[from:to]
	folded := fold(raw)
	if folded == "" || s.possessive(from, folded) {
		return
	}
	u := unit{kind: wordKind, text: folded, parts: parts(raw), from: from, to: to}
	s.group = append(s.group, u)
	s.emit(u)
}

// possessive reports whether a word is the s of "Kellogg's".
func (s *scanner) possessive(from int, folded string) bool {
	if folded != "s" || from == 0 {
		return false
	}
	before, size := utf8.DecodeLastRuneInString(s.text[:from])
	if before != '\'' && before != '’' {
		return false
	}
	owner, _ := utf8.DecodeLastRuneInString(s.text[:from-size])
	return classOf(owner) == letter
}

// characters emits each character of a sequence, with its marks, and returns the end of the
// sequence.
func (s *scanner) characters(at int) int {
	for joined := false; at < len(s.text) && !s.stopped; joined = true {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		if classOf(r) != character {
			break
		}
		from := at
		for at += size; at < len(s.text); at += size {
			r, size = utf8.DecodeRuneInString(s.text[at:])
			if c := classOf(r); c != mark && c != ignorable {
				break
			}
		}
		if folded := fold(s.text[from:at]); folded != "" {
			s.emit(unit{kind: characterKind, text: folded, from: from, to: at, joined: joined})
		}
	}
	return at
}

// flush ends the group of words. It emits the compound if the group has more than one word,
// or a word followed by + or #.
func (s *scanner) flush() {
	group := s.group
	s.group = s.group[:0]
	if len(group) == 0 || s.stopped {
		return
	}
	from, to := group[0].from, group[len(group)-1].to
	for len(group) == 1 && to < len(s.text) && to-group[0].to < 2 && (s.text[to] == '+' || s.text[to] == '#') {
		to++ // C++, C#
	}
	if len(group) == 1 && to == group[0].to || to-from > 4*MaxTermBytes {
		return
	}
	compound := make([]byte, 0, MaxTermBytes)
	for i, u := range group {
		if i > 0 {
			r, _ := utf8.DecodeRuneInString(s.text[group[i-1].to:])
			if r >= utf8.RuneSelf {
				r = '-'
			}
			compound = append(compound, byte(r))
		}
		compound = append(compound, u.text...)
	}
	compound = append(compound, s.text[group[len(group)-1].to:to]...)
	if len(compound) <= MaxTermBytes {
		s.emit(unit{kind: compoundKind, text: string(compound), from: from, to: to})
	}
}

func (s *scanner) emit(u unit) {
	if !s.stopped && !s.yield(u) {
		s.stopped = true
	}
}
