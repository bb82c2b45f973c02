package embed

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWordRunes is the longest word that is looked at; a longer one is dropped whole.
const maxWordRunes = 100

// wording splits texts into words as BERT's uncased tokeniser does. Its buffers are
// used again for each text.
type wording struct {
	clean, split []byte
	ids          []int32
}

// words yields the words of a text: lower case, without accents, each punctuation
// mark and each CJK ideograph by itself. A word is valid until the next.
func (w *wording) words(text string) iter.Seq[[]byte] {
	w.split = w.split[:0]
	if isASCII(text) {
		for i := range len(text) {
			w.addASCII(text[i])
		}
	} else {
		w.clean = clean(w.clean[:0], text)
		for it := decomposed(w.clean); !it.Done(); {
			for piece := it.Next(); len(piece) > 0; {
				r, size := utf8.DecodeRune(piece)
				piece = piece[size:]
				w.add(r)
			}
		}
	}
	return w.fields
}

// fields yields what is between spaces.
func (w *wording) fields(yield func([]byte) bool) {
	start := -1
	for i, b := range w.split {
		switch {
		case b != ' ' && start < 0:
			start = i
		case b == ' ' && start >= 0:
			if !yield(w.split[start:i]) {
				return
			}
			start = -1
		}
	}
	if start >= 0 {
		yield(w.split[start:])
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

// addASCII is clean and add for a text that needs no decomposition.
func (w *wording) addASCII(b byte) {
	switch {
	case b == '\t' || b == '\n' || b == '\r':
		w.split = append(w.split, ' ')
	case b < ' ' || b == 0x7f: // control
	case 'A' <= b && b <= 'Z':
		w.split = append(w.split, b+'a'-'A')
	case isASCIISymbol(rune(b)):
		w.split = append(w.split, ' ', b, ' ')
	default:
		w.split = append(w.split, b)
	}
}

// clean makes white space of every kind a space, drops what cannot be seen, and puts
// spaces around ideographs.
func clean(into []byte, text string) []byte {
	for _, r := range text { // a broken byte is U+FFFD
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			into = append(into, ' ')
		case r == 0 || r == utf8.RuneError || unicode.Is(unicode.C, r):
		case unicode.Is(unicode.Z, r):
			into = append(into, ' ')
		case isIdeograph(r):
			into = append(into, ' ')
			into = utf8.AppendRune(into, r)
			into = append(into, ' ')
		default:
			into = utf8.AppendRune(into, r)
		}
	}
	return into
}

// decomposed iterates over the canonical decomposition (NFD).
func decomposed(text []byte) *norm.Iter {
	var it norm.Iter
	it.Init(norm.NFD, text)
	return &it
}

// add appends a rune of the decomposed text.
func (w *wording) add(r rune) {
	if r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r) { // an accent
		return
	}
	r = unicode.ToLower(r)
	if isASCIISymbol(r) || r >= utf8.RuneSelf && unicode.Is(unicode.P, r) {
		w.split = append(w.split, ' ')
		w.split = utf8.AppendRune(w.split, r)
		w.split = append(w.split, ' ')
		return
	}
	w.split = utf8.AppendRune(w.split, r)
}

// isASCIISymbol reports what of ASCII is neither letter, digit, space nor control.
func isASCIISymbol(r rune) bool {
	return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
}

// isIdeograph reports the CJK ideographs, as BERT's tokeniser counts them.
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

// pieces is a vocabulary of word pieces.
type pieces struct {
	first   map[string]int32 // pieces that begin a word
	later   map[string]int32 // pieces that continue one, without their ##
	longest int              // bytes
}

// newPieces creates the vocabulary of its lines, whose numbers are the ids.
func newPieces(lines []string) pieces {
	p := pieces{first: make(map[string]int32, len(lines)), later: make(map[string]int32, len(lines)/4)}
	for id, line := range lines {
		if len(line) > 2 && line[:2] == "##" {
			line = line[2:]
			p.later[line] = int32(id)
		} else {
			p.first[line] = int32(id)
		}
		p.longest = max(p.longest, len(line))
	}
	return p
}

// append appends the ids of a word's pieces, each the longest that fits. A word that
// cannot be put together, or is too long, adds nothing.
func (p pieces) append(ids []int32, word []byte) []int32 {
	if len(word) > maxWordRunes && utf8.RuneCount(word) > maxWordRunes {
		return ids
	}
	before, from := len(ids), p.first
	for len(word) > 0 {
		id, size := p.longestIn(from, word)
		if size == 0 {
			return ids[:before]
		}
		ids = append(ids, id)
		word, from = word[size:], p.later
	}
	return ids
}

// longestIn returns the longest piece at the word's beginning, and its size; 0 if there
// is none.
func (p pieces) longestIn(from map[string]int32, word []byte) (id int32, size int) {
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
