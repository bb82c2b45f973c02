package retrieval

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// wiki is the retrieval case: passages that name each other.
type wiki struct {
	titles, texts []string
	questions     []question
	mentions      [][2]int
}

type question struct {
	Question string   `json:"question"`
	Gold     []string `json:"gold"`
}

func readWiki(t testing.TB) *wiki {
	t.Helper()
	w := &wiki{}
	lines(t, "corpus.jsonl.gz", func(line []byte) {
		var p struct {
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		require.NoError(t, json.Unmarshal(line, &p))
		w.titles, w.texts = append(w.titles, p.Title), append(w.texts, p.Text)
	})
	lines(t, "questions.jsonl.gz", func(line []byte) {
		var q question
		require.NoError(t, json.Unmarshal(line, &q))
		w.questions = append(w.questions, q)
	})
	lines(t, "mentions.tsv.gz", func(line []byte) {
		var m [2]int
		_, err := fmt.Sscan(string(line), &m[0], &m[1])
		require.NoError(t, err)
		w.mentions = append(w.mentions, m)
	})
	return w
}

func lines(t testing.TB, name string, each func(line []byte)) {
	t.Helper()
	f, err := os.Open("../../test/bench/retrieval/testdata/" + name)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		each(s.Bytes())
	}
	require.NoError(t, s.Err())
}

// recall is the mean share of the gold titles among the first k.
func (w *wiki) recall(k int, answers [][]int) float64 {
	sum := 0.0
	for i, q := range w.questions {
		found := map[string]bool{}
		for _, p := range answers[i][:min(k, len(answers[i]))] {
			found[w.titles[p]] = true
		}
		hit := 0
		for _, title := range q.Gold {
			if found[title] {
				hit++
			}
		}
		sum += float64(hit) / float64(len(q.Gold))
	}
	return 100 * sum / float64(len(w.questions))
}

// bm25 is a plain text lane in memory.
type bm25 struct {
	postings map[string]map[int]float64
	length   []float64
	mean     float64
}

func plainTerms(s string) []string {
	folded, _, _ := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), s)
	return strings.FieldsFunc(strings.ToLower(folded), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

func newBM25(texts []string) *bm25 {
	b := &bm25{postings: map[string]map[int]float64{}, length: make([]float64, len(texts))}
	for i, text := range texts {
		terms := plainTerms(text)
		b.length[i] = float64(len(terms))
		b.mean += float64(len(terms)) / float64(len(texts))
		for _, term := range terms {
			if b.postings[term] == nil {
				b.postings[term] = map[int]float64{}
			}
			b.postings[term][i]++
		}
	}
	return b
}

type scored struct {
	at    int
	score float64
}

func best(scores map[int]float64, limit int) []scored {
	var list []scored
	for at, score := range scores {
		list = append(list, scored{at, score})
	}
	slices.SortFunc(list, func(a, b scored) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		return a.at - b.at
	})
	return list[:min(len(list), limit)]
}

func (b *bm25) search(query string, limit int) []scored {
	const k1, mix = 1.2, 0.75
	scores := map[int]float64{}
	terms := plainTerms(query)
	slices.Sort(terms)
	for _, term := range slices.Compact(terms) {
		list := b.postings[term]
		idf := math.Log(1 + (float64(len(b.length))-float64(len(list))+0.5)/(float64(len(list))+0.5))
		for i, tf := range list {
			scores[i] += idf * tf * (k1 + 1) / (tf + k1*(1-mix+mix*b.length[i]/b.mean))
		}
	}
	return best(scores, limit)
}

func wikiID(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i)+1)
	return id
}
