package retrieval

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
)

// textSet is a set of passages with questions.
type textSet struct{ *dataset.Set }

// recall returns the mean share of the gold titles among the first k answers, in percent.
func (w *textSet) recall(k int, answers [][]int) float64 {
	sum := 0.0
	for i, q := range w.Questions {
		found := map[string]bool{}
		for _, p := range answers[i][:min(k, len(answers[i]))] {
			found[w.Passages[p].Title] = true
		}
		hit := 0
		for _, title := range q.Gold {
			if found[title] {
				hit++
			}
		}
		sum += float64(hit) / float64(len(q.Gold))
	}
	return 100 * sum / float64(len(w.Questions))
}

// bm25 is a simple text lane in memory.
type bm25 struct {
	postings map[string]map[int]float64
	length   []float64
	mean     float64
}

func plainTerms(s string) []string {
	folded, _, _ := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), s)
	return strings.FieldsFunc(strings.ToLower(folded), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
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
	index int
	score float64
}

func topScores(scores map[int]float64, limit int) []scored {
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
		return a.index - b.index
	})
	return list[:min(len(list), limit)]
}

func queryTerms(query string) []string {
	terms := plainTerms(query)
	slices.Sort(terms)
	return slices.Compact(terms)
}

func (b *bm25) idf(term string) float64 {
	return b.idfOf(float64(len(b.postings[term])))
}

// idfOf returns the weight of a term that occurs in the given number of passages.
func (b *bm25) idfOf(with float64) float64 {
	return math.Log(1 + (float64(len(b.length))-with+0.5)/(with+0.5))
}

func (b *bm25) weight(query string) (sum float64) {
	for _, term := range queryTerms(query) {
		sum += b.idf(term)
	}
	return sum
}

func (b *bm25) search(query string, limit int) []scored {
	const k1, mix = 1.2, 0.75
	scores := map[int]float64{}
	for _, term := range queryTerms(query) {
		idf := b.idf(term)
		for i, tf := range b.postings[term] {
			scores[i] += idf * tf * (k1 + 1) / (tf + k1*(1-mix+mix*b.length[i]/b.mean))
		}
	}
	return topScores(scores, limit)
}

func wikiID(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i)+1)
	return id
}

// memoryLanes implements the lanes in memory: BM25, names by full titles, and exact cosines.
type memoryLanes struct {
	set      *textSet
	text     *bm25
	byName   map[string][]int
	vectors  []embed.Vector // of the passages
	embedder embed.Embedder
}

func newMemoryLanes(w *textSet, vectors []embed.Vector, embedder embed.Embedder) *memoryLanes {
	l := &memoryLanes{
		set: w, text: newBM25(w.passages()), byName: map[string][]int{}, vectors: vectors, embedder: embedder,
	}
	for i, p := range w.Passages {
		name := strings.Join(plainTerms(p.Title), " ")
		l.byName[name] = append(l.byName[name], i)
	}
	return l
}

// passages returns the titles with their texts.
func (w *textSet) passages() []string {
	list := make([]string, len(w.Passages))
	for i, p := range w.Passages {
		list[i] = p.Title + "\n" + p.Text
	}
	return list
}

func (l *memoryLanes) SearchText(
	_ context.Context, _ uuid.UUID, text string, _ Filter, limit, named int,
) (found TextFindings, err error) {
	weight := l.text.weight(text)
	for _, s := range l.text.search(text, limit) {
		found.Hits = append(found.Hits, TextHit{Node: wikiID(s.index), Score: s.score, NormalisedScore: s.score / weight})
	}
	found.Named = l.named(text, named)
	return found, nil
}

// named returns the passages whose titles occur in the question, by the rules of the text
// lane in Postgres.
func (l *memoryLanes) named(text string, limit int) (list []NamedNode) {
	terms := plainTerms(text)
	seen := map[string]bool{}
	for from := range terms {
		for to := from + 1; to <= min(len(terms), from+8); to++ {
			name := strings.Join(terms[from:to], " ")
			if letters := len([]rune(strings.Join(terms[from:to], ""))); letters < 3 || seen[name] {
				continue
			}
			seen[name] = true
			for _, i := range l.byName[name] {
				list = append(list, NamedNode{wikiID(i), l.weightOfName(terms[from:to]) / float64(len(l.byName[name]))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b NamedNode) int { return cmp.Compare(b.Certainty, a.Certainty) })
	return list[:min(len(list), limit)]
}

// weightOfName returns 1, or for a name of at most three letters the relative weight of its
// rarest word.
func (l *memoryLanes) weightOfName(terms []string) float64 {
	if len([]rune(strings.Join(terms, ""))) > 3 {
		return 1
	}
	rarest := 0.0
	for _, term := range terms {
		rarest = max(rarest, l.text.idf(term))
	}
	return min(1, rarest/l.text.idfOf(1))
}

func (l *memoryLanes) LiveIndex(context.Context) (Index, error) {
	return Index{"wiki", l.embedder.Model()}, nil
}

func (l *memoryLanes) Nearest(
	_ context.Context, _ Index, _ uuid.UUID, v embed.Vector, _ VectorFilter, limit int,
) (hits []VectorHit, err error) {
	scores := make(map[int]float64, len(l.vectors))
	for i, passage := range l.vectors {
		if passage != nil {
			scores[i] = exactCosine(v, passage)
		}
	}
	for _, s := range topScores(scores, limit) {
		hits = append(hits, VectorHit{Node: wikiID(s.index), Cosine: s.score})
	}
	return hits, nil
}

// exactCosine returns the cosine of two vectors of length 1.
func exactCosine(a, b embed.Vector) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// graph returns the dataset as the graph of a workspace.
func (w *textSet) graph() *memory {
	m := newMemory()
	for i, p := range w.Passages {
		m.node(graph.Node{ID: wikiID(i), Name: p.Title, EntityType: graph.Concept, Description: &p.Text})
	}
	for i, mention := range w.Mentions {
		m.edge(graph.Edge{
			ID: wikiID(i), SourceID: wikiID(mention[0]), TargetID: wikiID(mention[1]), RelationType: "mentions",
		})
	}
	return m
}

// ask searches for each question, and returns the passages found.
func (w *textSet) ask(t testing.TB, search func(question string) (Result, error)) (answers [][]int) {
	for _, q := range w.Questions {
		r, err := search(q.Question)
		require.NoError(t, err)
		require.Empty(t, r.Degraded)
		var found []int
		for _, h := range r.Hits {
			found = append(found, int(binary.BigEndian.Uint64(h.Node.ID[8:]))-1)
		}
		answers = append(answers, found)
	}
	return answers
}

type figures struct{ search2, search5, hybrid2, hybrid5 float64 }

// engine returns the service's ranking over the set.
func (w *textSet) engine(lanes *memoryLanes) *Engine {
	return New(Deps{
		Text: lanes, Vectors: lanes, Graph: w.graph(), LaneTimeout: time.Minute,
		Embedder: embed.NewQueries(embed.QueryOptions{Embedder: lanes.embedder, Timeout: time.Minute}),
	})
}

func (w *textSet) measure(t testing.TB, lanes *memoryLanes) (f figures) {
	e := w.engine(lanes)
	search := w.ask(t, func(question string) (Result, error) {
		return e.Search(t.Context(), Query{Text: question, Limit: 10})
	})
	hybrid := w.ask(t, func(question string) (Result, error) {
		return e.Hybrid(t.Context(), HybridQuery{
			Query: Query{Text: question, Limit: 10}, Hops: 2, Direction: AnyDirection, Weights: DefaultWeights(),
		})
	})
	f = figures{w.recall(2, search), w.recall(5, search), w.recall(2, hybrid), w.recall(5, hybrid)}
	t.Logf(
		"%s: search R@2 %.1f R@5 %.1f, hybrid R@2 %.1f R@5 %.1f", lanes.embedder.Model(), f.search2, f.search5, f.hybrid2,
		f.hybrid5,
	)
	return f
}

func TestPassagesThatNoWordNamesAreFoundByWhatTheyAreLinkedTo(t *testing.T) {
	w := &textSet{dataset.Read(t)}
	static := embed.NewStatic()
	vectors, err := static.Embed(t.Context(), w.passages())
	require.NoError(t, err)
	f := w.measure(t, newMemoryLanes(w, vectors, static))
	require.GreaterOrEqual(t, f.search5, 66.0)
	require.GreaterOrEqual(t, f.hybrid5, 92.0)
	require.GreaterOrEqual(t, f.hybrid2, 67.0)
}
