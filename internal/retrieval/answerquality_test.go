package retrieval

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/embed"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
)

// answerFigures are shares in percent.
type answerFigures struct {
	gold      float64 // questions with a sentence of a gold passage
	covered   float64 // gold passages of a question that are cited
	precision float64 // sentences that are of gold passages
}

// measureAnswers answers each question.
func (w *textSet) measureAnswers(t testing.TB, lanes *memoryLanes, words bool, maxSentences int) (f answerFigures) {
	e := w.engine(lanes)
	weights := DefaultWeights()
	if words {
		weights.Vector = 0
	}
	sentences := 0.0
	for _, q := range w.Questions {
		a, err := e.Answer(t.Context(), AnswerQuery{MaxSentences: maxSentences, HybridQuery: HybridQuery{
			Query: Query{Text: q.Question, Limit: 10}, Hops: 2, Direction: AnyDirection, Weights: weights,
		}})
		require.NoError(t, err)
		require.Empty(t, a.Degraded)
		cited := map[string]bool{}
		for _, s := range a.Sentences {
			source := a.Citations[s.Citation].Hit.Node
			require.Equal(t, s.Text, strings.Join(strings.Fields((*source.Description)[s.From:s.To]), " "))
			sentences++
			if slices.Contains(q.Gold, source.Name) {
				f.precision++
				cited[source.Name] = true
			}
		}
		if len(cited) > 0 {
			f.gold += 100 / float64(len(w.Questions))
		}
		f.covered += 100 * float64(len(cited)) / float64(len(q.Gold)) / float64(len(w.Questions))
	}
	f.precision *= 100 / max(sentences, 1)
	t.Logf(
		"%s, at most %d sentences, words only: %v: gold passage cited %.1f %%, gold passages covered %.1f %%, sentences of "+
			"gold passages %.1f %%", lanes.embedder.Model(), maxSentences, words, f.gold, f.covered, f.precision,
	)
	return f
}

func TestSentencesOfAnswersAreOfThePassagesThatAnswer(t *testing.T) {
	w := &textSet{dataset.Read(t)}
	static := embed.NewStatic()
	vectors, err := static.Embed(t.Context(), w.passages())
	require.NoError(t, err)
	lanes := newMemoryLanes(w, vectors, static)
	f := w.measureAnswers(t, lanes, false, 3)
	require.GreaterOrEqual(t, f.gold, 98.0)
	require.GreaterOrEqual(t, f.covered, 60.0)
	require.GreaterOrEqual(t, f.precision, 80.0)
	f = w.measureAnswers(t, lanes, true, 3)
	require.GreaterOrEqual(t, f.gold, 97.0)
	require.GreaterOrEqual(t, f.covered, 58.0)
	require.GreaterOrEqual(t, f.precision, 84.0)
	f = w.measureAnswers(t, lanes, false, 1)
	require.GreaterOrEqual(t, f.gold, 94.0)
}
