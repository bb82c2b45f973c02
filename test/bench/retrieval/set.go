package retrieval

import "slices"

// Set is passages that mention each other, and questions about them.
type Set struct {
	Passages  []Passage
	Mentions  [][2]int // the index of a passage, and that of one that it mentions
	Questions []Question
}

// Passage is a text with a title, which no other passage of the set has as its title if it is the answer of a question.
type Passage struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Question is a question, with the titles of the passages that answer it.
type Question struct {
	Question string   `json:"question"`
	Gold     []string `json:"gold"`
}

// Share returns a part of the set, for trial runs: a share of the questions, the passages that answer them, a share of
// the other passages, and the mentions between these. Questions are easier among fewer passages.
func (s *Set) Share(share float64) *Set {
	part := &Set{Questions: spread(s.Questions, int(share*float64(len(s.Questions))+0.5))}
	gold := map[string]bool{}
	for _, q := range part.Questions {
		for _, title := range q.Gold {
			gold[title] = true
		}
	}
	indexes := map[int]int{} // in s.Passages -> in part.Passages
	limit := int(share * float64(len(s.Passages)))
	for i, p := range s.Passages {
		if i < limit || gold[p.Title] {
			indexes[i] = len(part.Passages)
			part.Passages = append(part.Passages, p)
		}
	}
	for _, m := range s.Mentions {
		from, known := indexes[m[0]]
		if to, both := indexes[m[1]]; known && both {
			part.Mentions = append(part.Mentions, [2]int{from, to})
		}
	}
	return part
}

// spread returns n items at equal distances, all if there are no more, and at least one.
func spread[T any](list []T, n int) []T {
	if n >= len(list) {
		return slices.Clone(list)
	}
	n = max(n, 1)
	items := make([]T, n)
	for i := range items {
		items[i] = list[i*len(list)/n]
	}
	return items
}
