package retrieval

import (
	"context"
	"regexp"
	"strings"

	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// minSupport is the support from which a sentence counts as supported; see ADR 97.
const minSupport = 0.5

// source is what the passages that a sentence cites contain.
type source struct {
	text    string
	words   []string
	numbers map[string]bool
	vectors []embed.Vector
}

// checkSupport compares sentences with the passages that they cite, by words, and by meaning if the weights have the
// vector lane. degraded reports that the embedder was unavailable.
func (e *Engine) checkSupport(
	ctx context.Context, sentences []citedSentence, passages []Passage, w Weights,
) (checked []GeneratedSentence, degraded bool, err error) {
	vectors := make([]embed.Vector, len(sentences))
	if w.Vector > 0 && hasVectors(passages) {
		texts := make([]string, len(sentences))
		for i := range sentences {
			texts[i] = sentences[i].text
		}
		errEmbed := e.runLane(ctx, laneSentences, func(ctx context.Context) (err error) {
			vectors, err = e.deps.Embedder.EmbedTexts(ctx, texts)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil, false, context.Cause(ctx)
		case errEmbed != nil && !isUnavailableOrRefused(errEmbed):
			return nil, false, errEmbed
		case errEmbed != nil:
			vectors, degraded = make([]embed.Vector, len(sentences)), true
		}
	}
	sources := make([]source, len(passages))
	for i := range passages {
		sources[i] = newSource(&passages[i])
	}
	for i := range sentences {
		s := &sentences[i]
		g := GeneratedSentence{Text: s.text, Citations: s.citations}
		cited := mergeSources(sources, s.citations)
		g.Support = cited.support(s.text, e.deps.Embedder.Model(), vectors[i], w)
		g.Supported = g.Support >= minSupport && cited.hasNumbers(s.text) && cited.hasAddresses(s.text)
		checked = append(checked, g)
	}
	return checked, degraded, nil
}

func hasVectors(passages []Passage) bool {
	for i := range passages {
		if len(passages[i].vectors) > 0 {
			return true
		}
	}
	return false
}

func newSource(p *Passage) source {
	text := strings.Join(append([]string{p.Title, p.Text}, p.Values...), "\n")
	return source{text: text, words: foldedWords(text), numbers: numbersOf(text), vectors: p.vectors}
}

// mergeSources returns the content of several passages as one.
func mergeSources(sources []source, indexes []int) source {
	merged := source{numbers: map[string]bool{}}
	for _, index := range indexes {
		s := &sources[index]
		merged.text += "\n" + s.text
		merged.words = append(merged.words, s.words...)
		merged.vectors = append(merged.vectors, s.vectors...)
		for number := range s.numbers {
			merged.numbers[number] = true
		}
	}
	return merged
}

// support returns how much of a sentence the source contains: the weighted mean of the share of its words, of which
// long ones count more, and of the highest cosine with a sentence of the source. The weights are those of the
// relevance.
func (s *source) support(sentence string, model embed.Model, vector embed.Vector, w Weights) float64 {
	words := newQueryWords(sentence)
	found := map[string]bool{}
	for _, word := range s.words {
		if asked, ok := words.match(word); ok {
			found[asked] = true
		}
	}
	share, total := 0.0, 0.0
	for word, weight := range words.weights {
		total += weight
		if found[word] {
			share += weight
		}
	}
	if total == 0 {
		return 0
	}
	share = min(share/total, 1)
	if vector == nil || len(s.vectors) == 0 {
		return share
	}
	best := 0.0
	for _, other := range s.vectors {
		best = max(best, scaledCosine(model, vector, other))
	}
	text, meaning := textRelevance*w.Text, vectorRelevance*w.Vector
	if text+meaning == 0 {
		return share
	}
	return (text*share + meaning*best) / (text + meaning)
}

// hasNumbers reports whether the source has each number of a sentence. Numbers are what a model most often gets wrong
// while its words are right.
func (s *source) hasNumbers(sentence string) bool {
	for number := range numbersOf(sentence) {
		if !s.numbers[number] {
			return false
		}
	}
	return true
}

// addressPattern matches the addresses of pages.
var addressPattern = regexp.MustCompile(`(?i)\b(?:https?|ftp)://[^\s<>"]+`)

// hasAddresses reports whether the source has each address of a sentence, so that a reader is not sent elsewhere.
func (s *source) hasAddresses(sentence string) bool {
	for _, address := range addressPattern.FindAllString(sentence, -1) {
		if !strings.Contains(s.text, strings.TrimRight(address, ".,;:!?)'")) {
			return false
		}
	}
	return true
}

var (
	numberPattern    = regexp.MustCompile(`\p{Nd}+(?:[.,'’\x{00a0}\x{202f}]\p{Nd}+)*`)
	thousandsPattern = regexp.MustCompile(`[.,'’\x{00a0}\x{202f}](\p{Nd}{3})\b`)
)

// numbersOf returns the numbers of a text, without separators of thousands and with a decimal point.
func numbersOf(text string) map[string]bool {
	numbers := map[string]bool{}
	for _, number := range numberPattern.FindAllString(text, -1) {
		number = thousandsPattern.ReplaceAllString(number, "$1")
		number = strings.ReplaceAll(number, ",", ".")
		if strings.Contains(number, ".") {
			number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
		}
		numbers[number] = true
	}
	return numbers
}
