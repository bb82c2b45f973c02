package retrieval

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/uuid"
)

// Parameters of the choice of sentences; see ADR 94.
const (
	// Weights of the three parts of the relevance of a sentence.
	textRelevance   = 0.35
	vectorRelevance = 0.45
	rankRelevance   = 0.2
	// rankDecay is the number of ranks after which the part of the rank is half of that of the first result.
	rankDecay = 4
	// backgroundSentences is the number of sentences without any word of the question that are assumed beside those read:
	// the search found these by the words, so that the words are more frequent in them than in others.
	backgroundSentences = 50
	// contextShare is the weight of a word that only the name of the node or the context has.
	contextShare = 0.5
	// focusBonus is added for the sentences of the part that the vector lane found, when candidates are kept.
	focusBonus = 0.15
	// fragmentFactor is the factor of lines that do not end as sentences do.
	fragmentFactor = 0.85
	// A sentence qualifies by words or by meaning, and if it is not much less relevant than the best.
	minSentenceShare = 0.2
	minCosine        = 0.3
	minRelevanceRate = 0.5
	// diversity is the weight of the similarity to the sentences that are already chosen.
	diversity = 0.3
	// maxOverlap is the share of common words from which two sentences are the same.
	maxOverlap = 0.8
)

// weigh sets the weights of the words of the question, and the share of each sentence. Words of many sentences have a
// low weight, as in BM25, and so do short words, as in snippets.
func (c *candidates) weigh() {
	c.weights = make([]float64, len(c.indexes))
	total := 0.0
	for word, index := range c.indexes {
		with := 0.0
		for _, s := range c.list {
			if s.own.has(index) {
				with++
			}
		}
		with = max(with, 1) // a word that no sentence has does not count more than a rare one
		c.weights[index] = c.words.weights[word] * math.Log(1+(backgroundSentences+float64(len(c.list))-with+0.5)/(with+0.5))
	}
	for _, weight := range c.weights { // in a fixed order, so that the sum is always the same
		total += weight
	}
	for _, s := range c.list {
		for index, weight := range c.weights {
			if s.own.has(index) {
				s.share += weight / total
			} else if s.around.has(index) {
				s.share += contextShare * weight / total
			}
		}
	}
}

// keepBest keeps the sentences that are the best without vectors.
func (c *candidates) keepBest() {
	c.rate(Weights{Text: 1})
	for _, s := range c.list {
		if s.focused {
			s.relevance += focusBonus
		}
	}
	slices.SortStableFunc(c.list, byRelevance)
	c.list = c.list[:min(len(c.list), maxCandidateText)]
}

// rate sets the relevance of the sentences by the weights of the text and vector lanes.
func (c *candidates) rate(w Weights) { c.rateList(c.list, w) }

func (c *candidates) rateList(list []*sentence, w Weights) {
	text, vector := textRelevance*w.Text, vectorRelevance*w.Vector
	if !c.embedded {
		vector = 0
	}
	if text+vector == 0 {
		text = textRelevance
	}
	for _, s := range list {
		rank := 1 / (1 + float64(s.passage)/rankDecay)
		s.relevance = (text*s.share + vector*s.cosine + rankRelevance*rank) / (text + vector + rankRelevance)
		if !s.Complete {
			s.relevance *= fragmentFactor
		}
	}
}

// byRelevance orders sentences by relevance, and those of the same relevance by their position.
func byRelevance(a, b *sentence) int {
	return cmp.Or(cmp.Compare(b.relevance, a.relevance), cmp.Compare(a.passage, b.passage), cmp.Compare(a.From, b.From))
}

// choose returns at most limit sentences in an order to read.
func (c *candidates) choose(w Weights, limit int) []*sentence {
	chosen := c.pick(w, limit)
	c.sortToRead(chosen)
	return chosen
}

// pick returns at most limit sentences. Each is the most relevant that does not repeat those before it (maximal
// marginal relevance).
func (c *candidates) pick(w Weights, limit int) []*sentence {
	c.rate(w)
	rest := slices.DeleteFunc(slices.Clone(c.list), func(s *sentence) bool {
		return s.share < minSentenceShare && s.cosine < minCosine
	})
	slices.SortFunc(rest, byRelevance)
	var chosen []*sentence
	for len(chosen) < limit && len(rest) > 0 {
		best, bestScore := -1, math.Inf(-1)
		for i, s := range rest {
			if len(chosen) > 0 && s.relevance < minRelevanceRate*chosen[0].relevance {
				break
			}
			similarity, repeats := c.compare(s, chosen)
			if score := (1-diversity)*s.relevance - diversity*similarity; !repeats && score > bestScore {
				best, bestScore = i, score
			}
		}
		if best < 0 {
			break
		}
		chosen = append(chosen, rest[best])
		rest = slices.Delete(rest, best, best+1)
	}
	return chosen
}

// compare returns the highest similarity of a sentence to the chosen ones, and whether it repeats one of them.
func (c *candidates) compare(s *sentence, chosen []*sentence) (similarity float64, repeats bool) {
	for _, other := range chosen {
		common := overlap(s.words, other.words)
		if common >= maxOverlap {
			return 1, true
		}
		if c.embedded && s.vector != nil && other.vector != nil {
			common = scaledCosine(c.model, s.vector, other.vector)
		}
		similarity = max(similarity, common)
	}
	return similarity, false
}

// overlap returns the share of the words that two texts have in common.
func overlap(a, b []string) float64 {
	words := make(map[string]bool, len(a)+len(b)) // whether a word is in both
	for _, word := range a {
		words[word] = false
	}
	for _, word := range b {
		if _, ok := words[word]; ok {
			words[word] = true
		}
	}
	common := 0
	for _, both := range words {
		if both {
			common++
		}
	}
	for _, word := range b {
		words[word] = true
	}
	return float64(common) / float64(max(len(words), 1))
}

// sortToRead sorts chosen sentences: what is from one document or node is together and in the order of the text, and
// begins at the place of its first chosen sentence.
func (c *candidates) sortToRead(chosen []*sentence) {
	place := map[uuid.UUID]int{}
	for i, s := range chosen {
		if group := c.passages[s.passage].group; place[group] == 0 {
			place[group] = i + 1
		}
	}
	slices.SortStableFunc(chosen, func(a, b *sentence) int {
		pa, pb := &c.passages[a.passage], &c.passages[b.passage]
		return cmp.Or(
			cmp.Compare(place[pa.group], place[pb.group]), cmp.Compare(pa.index, pb.index),
			cmp.Compare(a.passage, b.passage), cmp.Compare(a.From, b.From),
		)
	})
}
