package retrieval

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

const (
	// snippetRunes is how many characters a snippet has at most.
	snippetRunes = 300
	// leadRunes is how many characters before the first word that suits stay, if no
	// sentence begins there.
	leadRunes = 40
	// mostWords of a query are looked for.
	mostWords = 256
	// inflection is how many letters at the end of two words may differ.
	inflection = 3
	// stemRunes is how many letters at their beginning must then be the same.
	stemRunes = 4
)

// words are those of a query, as snippets look for them.
type words struct {
	weights map[string]float64 // by the folded word, or character of a script without spaces
	stems   map[string][]string
}

func newWords(query string) *words {
	w := &words{weights: map[string]float64{}, stems: map[string][]string{}}
	for _, token := range tokens([]rune(query)) {
		if _, known := w.weights[token.text]; known || len(w.weights) == mostWords {
			continue
		}
		letters := []rune(token.text)
		// Long words are rare and short ones everywhere, in any language that has
		// both; where each character stands alone, each counts like a short word.
		w.weights[token.text] = float64(min(len(letters), 8))
		if len(letters) >= stemRunes {
			stem := string(letters[:stemRunes])
			w.stems[stem] = append(w.stems[stem], token.text)
		}
	}
	return w
}

// match returns the word of the query that a word of a text stands for: itself, or one
// that ends otherwise.
func (w *words) match(text string) (word string, found bool) {
	if _, same := w.weights[text]; same {
		return text, true
	}
	letters := []rune(text)
	if len(letters) < stemRunes {
		return "", false
	}
	for _, other := range w.stems[string(letters[:stemRunes])] {
		same, theirs := 0, []rune(other)
		for same < min(len(letters), len(theirs)) && letters[same] == theirs[same] {
			same++
		}
		if len(letters)-same <= inflection && len(theirs)-same <= inflection {
			return other, true
		}
	}
	return "", false
}

// passage is the text of a hit that a snippet is cut from: its description, or the
// chunk of it when meaning found the hit and words did not; without one, what its
// properties say.
func passage(hit *Hit) string {
	if hit.Chunk != nil && hit.Scores.Text == nil && strings.TrimSpace(hit.Chunk.Text) != "" {
		return hit.Chunk.Text
	}
	if d := hit.Node.Description; d != nil && strings.TrimSpace(*d) != "" {
		return *d
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(hit.Node.Properties)) {
		if value := hit.Node.Properties[name]; value.Kind() == '"' {
			if text, err := jsontext.AppendUnquote(nil, value); err == nil {
				parts = append(parts, name+": "+string(text))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// snippet cuts what suits the words best out of a text, on borders of words. White
// space is one space.
func (w *words) snippet(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= snippetRunes {
		return string(runes)
	}
	from := w.start(runes)
	room := snippetRunes - 1 // for the end's ellipsis
	if from > 0 {
		room--
	}
	to := min(from+room, len(runes))
	if to == len(runes) { // the end is in it: fill it from the front
		from = firstBorder(runes, to-(snippetRunes-1), to)
	} else {
		to = lastBorder(runes, from, to)
	}
	cut := strings.TrimSpace(string(runes[from:to]))
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(runes) {
		cut += "…"
	}
	return cut
}

// firstBorder is the first border of words from from on; in a word that is longer than
// all of it, the first place that takes no mark from its letter.
func firstBorder(runes []rune, from, to int) int {
	for at := from; at < to; at++ {
		if border(runes, at) {
			return at
		}
	}
	for joins(runes, from) && from < to-1 {
		from++
	}
	return from
}

// lastBorder is the last border of words up to to; in a word that is longer than all of
// it, the last place that takes no mark from its letter.
func lastBorder(runes []rune, from, to int) int {
	for at := to; at > from; at-- {
		if border(runes, at) {
			return at
		}
	}
	for at := to; at > from; at-- {
		if !joins(runes, at) {
			return at
		}
	}
	return to
}

// match is a word of a text that stands for one of the query.
type match struct {
	from, to int
	word     string
}

// start is where the best passage begins: the shortest that has most of the words,
// each once, of what a passage has room for. A word that the text has all over counts
// little.
func (w *words) start(runes []rune) int {
	var matches []match
	often := map[string]int{}
	for _, token := range tokens(runes) {
		if word, found := w.match(token.text); found {
			matches = append(matches, match{token.from, token.to, word})
			often[word]++
		}
	}
	weight := func(word string) float64 { return w.weights[word] / float64(often[word]) }
	best, bestAt, score, first := 0.0, 0, 0.0, 0
	within := map[string]int{}
	for _, m := range matches {
		if within[m.word]++; within[m.word] == 1 {
			score += weight(m.word)
		}
		for first < len(matches) {
			f := matches[first]
			if within[f.word] == 1 && m.to-f.from <= snippetRunes-leadRunes-2 || f == m {
				break
			}
			if within[f.word]--; within[f.word] == 0 {
				score -= weight(f.word)
			}
			first++
		}
		if score > best+1e-9 {
			best, bestAt = score, matches[first].from
		}
	}
	return lead(runes, bestAt)
}

// lead goes back to the beginning of the sentence, if it is near, else a few words.
func lead(runes []rune, at int) int {
	word := at
	for back := at; back >= 0 && at-back <= leadRunes; back-- {
		if back == 0 || sentence(runes, back) {
			return back
		}
		if border(runes, back) {
			word = back
		}
	}
	return word
}

// sentence reports whether one begins at a rune.
func sentence(runes []rune, at int) bool {
	if at >= 2 && runes[at-1] == ' ' {
		return strings.ContainsRune(".!?؟।", runes[at-2])
	}
	return strings.ContainsRune("。！？", runes[at-1])
}

// token is a word of a text, folded, and where it stands in runes.
type token struct {
	text     string
	from, to int
}

// tokens cuts a text into words: letters, marks and numbers that stand together, and
// single characters of scripts that write without spaces.
func tokens(runes []rune) (list []token) {
	begin := -1
	end := func(at int) {
		if begin >= 0 {
			if text := fold(runes[begin:at]); text != "" {
				list = append(list, token{text, begin, at})
			}
			begin = -1
		}
	}
	for at, r := range runes {
		switch {
		case unspaced(r):
			end(at)
			list = append(list, token{fold(runes[at : at+1]), at, at + 1})
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && begin >= 0:
			if begin < 0 {
				begin = at
			}
		default:
			end(at)
		}
	}
	end(len(runes))
	return list
}

// fold makes words equal that differ in case, accents or width.
func fold(runes []rune) string {
	if lower, plain := lowerASCII(runes); plain {
		return lower
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(string(runes)))
}

// lowerASCII is fold for words of nothing else: most, in much that is written.
func lowerASCII(runes []rune) (lower string, plain bool) {
	var short [32]byte
	letters := short[:0]
	for _, r := range runes {
		switch {
		case r >= unicode.MaxASCII:
			return "", false
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		}
		letters = append(letters, byte(r))
	}
	return string(letters), true
}

// firstUnspaced is before all scripts that unspaced names.
const firstUnspaced = '\u0e00'

// unspaced reports whether a script is written without spaces between words.
func unspaced(r rune) bool {
	return r >= firstUnspaced &&
		unicode.In(
			r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
		) &&
		!unicode.IsMark(r)
}

// border reports whether a text may be cut before a rune without cutting a word.
func border(runes []rune, at int) bool {
	if at <= 0 || at >= len(runes) {
		return true
	}
	if joins(runes, at) {
		return false
	}
	before, after := runes[at-1], runes[at]
	return unspaced(before) || unspaced(after) || !wordly(before) || !wordly(after)
}

// joins reports whether a rune belongs to the character before it: a mark, a modifier,
// or what a joiner ties to it.
func joins(runes []rune, at int) bool {
	const joiner = '\u200d'
	if at <= 0 || at >= len(runes) {
		return false
	}
	r, before := runes[at], runes[at-1]
	flag := func(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
	return unicode.IsMark(r) || r == joiner || before == joiner || r >= 0x1F3FB && r <= 0x1F3FF || flag(r) && flag(before)
}

func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }
