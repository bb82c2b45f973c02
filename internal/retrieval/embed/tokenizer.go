package embed

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWordRunes is the maximum length of a word; longer words are dropped.
const maxWordRunes = 100

// tokenizer splits texts into words like BERT's uncased tokenizer. It reuses its buffers for
// each text.
type tokenizer struct {
	clean, buffer []byte
	ids           []int32
}

// words returns an iterator over the words of a text, in lower case and without accents.
// Each punctuation mark and each CJK ideograph is a separate word. A word is valid until the
// next one.
func (t *tokenizer) words(text string) iter.Seq[[]byte] {
	t.buffer = t.buffer[:0]
	if isASCII(text) {
		for i := range len(text) {
			t.addASCII(text[i])
		}
	} else {
		t.clean = cleanText(t.clean[:0], text)
		for it := decomposed(t.clean); !it.Done(); {
			for piece := it.Next(); len(piece) > 0; {
				r, size := utf8.DecodeRune(piece)
				piece = piece[size:]
				t.add(r)
			}
		}
	}
	return t.fields
}

// fields yields the sequences of bytes between spaces.
func (t *tokenizer) fields(yield func([]byte) bool) {
	start := -1
	for i, b := range t.buffer {
		switch {
		case b != ' ' && start < 0:
			start = i
		case b == ' ' && start >= 0:
			if !yield(t.buffer[start:i]) {
				return
			}
			start = -1
		}
	}
	if start >= 0 {
		yield(t.buffer[start:])
	}
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// addASCII does the work of cleanText and add for a byte of an ASCII text, which requires no
// decomposition.
func (t *tokenizer) addASCII(b byte) {
	switch {
	case b == '\t' || b == '\n' || b == '\r':
		t.buffer = append(t.buffer, ' ')
	case b < ' ' || b == 0x7f: // control
	case 'A' <= b && b <= 'Z':
		t.buffer = append(t.buffer, b+'a'-'A')
	case isASCIISymbol(rune(b)):
		t.buffer = append(t.buffer, ' ', b, ' ')
	default:
		t.buffer = append(t.buffer, b)
	}
}

// cleanText replaces all kinds of white space by spaces, drops control and other invisible
// characters, and adds spaces around ideographs.
func cleanText(dst []byte, text string) []byte {
	for _, r := range text { // an invalid byte is U+FFFD
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			dst = append(dst, ' ')
		case r == 0 || r == utf8.RuneError || unicode.Is(unicode.C, r):
		case unicode.Is(unicode.Z, r):
			dst = append(dst, ' ')
		case isIdeograph(r):
			dst = append(dst, ' ')
			dst = utf8.AppendRune(dst, r)
			dst = append(dst, ' ')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// decomposed returns an iterator over the canonical decomposition (NFD).
func decomposed(text []byte) *norm.Iter {
	var it norm.Iter
	it.Init(norm.NFD, text)
	return &it
}

// add appends a rune of the decomposed text.
func (t *tokenizer) add(r rune) {
	if r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r) { // an accent
		return
	}
	r = unicode.ToLower(r)
	if isASCIISymbol(r) || r >= utf8.RuneSelf && unicode.Is(unicode.P, r) {
		t.buffer = append(t.buffer, ' ')
		t.buffer = utf8.AppendRune(t.buffer, r)
		t.buffer = append(t.buffer, ' ')
		return
	}
	t.buffer = utf8.AppendRune(t.buffer, r)
}

// isASCIISymbol reports whether a rune is ASCII and neither a letter, digit, space nor
// control character.
func isASCIISymbol(r rune) bool {
	return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
}

// isIdeograph reports whether a rune is a CJK ideograph, as defined by BERT's tokenizer.
func isIdeograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x2A6DF, 0x2A700 <= r && r <= 0x2B73F, 0x2B740 <= r && r <= 0x2B81F,
		0x2B820 <= r && r <= 0x2CEAF, 0x2F800 <= r && r <= 0x2FA1F:
		return true
	}
	return false
}

// vocabulary is a vocabulary of word pieces.
type vocabulary struct {
	initial      map[string]int32 // pieces that begin a word
	continuation map[string]int32 // pieces that continue one, without their ##
	longest      int              // bytes
}

// newPieces creates a vocabulary from its lines. The line numbers are the ids.
func newPieces(lines []string) vocabulary {
	p := vocabulary{initial: make(map[string]int32, len(lines)), continuation: make(map[string]int32, len(lines)/4)}
	for id, line := range lines {
		if len(line) > 2 && line[:2] == "##" {
			line = line[2:]
			p.continuation[line] = int32(id)
		} else {
			p.initial[line] = int32(id)
		}
		p.longest = max(p.longest, len(line))
	}
	return p
}

// append appends the ids of the pieces of a word, each the longest that matches. For a word
// that is not a sequence of pieces, or is too long, it appends nothing.
func (p vocabulary) append(ids []int32, word []byte) []int32 {
	if len(word) > maxWordRunes && utf8.RuneCount(word) > maxWordRunes {
		return ids
	}
	before, from := len(ids), p.initial
	for len(word) > 0 {
		id, size := p.longestPrefix(from, word)
		if size == 0 {
			return ids[:before]
		}
		ids = append(ids, id)
		word, from = word[size:], p.continuation
	}
	return ids
}

// longestPrefix returns the longest piece that is a prefix of the word, and its size; 0 if
// there is none.
func (p vocabulary) longestPrefix(from map[string]int32, word []byte) (id int32, size int) {
	for size = min(len(word), p.longest); size > 0; size-- {
		if size < len(word) && !utf8.RuneStart(word[size]) {
			continue
		}
		if id, found := from[string(word[:size])]; found {
			return id, size
		}
	}
	return 0, 0
}
