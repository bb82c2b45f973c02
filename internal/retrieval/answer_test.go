package retrieval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// library is a workspace of described nodes, which the text lane finds in their order.
type library struct {
	*fakeLanes
	memory *memory
}

func newLibrary(texts ...[2]string) *library {
	l := &library{newFakeLanes(), newMemory()}
	for i, text := range texts {
		l.memory.node(graph.Node{ID: wikiID(i), Name: text[0], EntityType: graph.Object, Description: &text[1]})
		l.text = append(l.text, TextHit{wikiID(i), 1, 1 - float64(i)/100})
	}
	return l
}

func (l *library) ask(question string, change func(*AnswerQuery)) (Answer, error) {
	q := AnswerQuery{MaxSentences: 3, HybridQuery: HybridQuery{
		Query: Query{Text: question, Limit: 10}, Hops: 0, Direction: AnyDirection, Weights: DefaultWeights(),
	}}
	if change != nil {
		change(&q)
	}
	return l.engine(l.memory).Answer(context.Background(), q)
}

// answer returns the sentences of an answer that must succeed.
func (l *library) answer(t testing.TB, question string, change func(*AnswerQuery)) (texts []string) {
	t.Helper()
	a, err := l.ask(question, change)
	require.NoError(t, err)
	for _, s := range a.Sentences {
		texts = append(texts, s.Text)
		source := a.Citations[s.Citation].Hit.Node
		require.Equal(t, s.Text, strings.Join(strings.Fields((*source.Description)[s.From:s.To]), " "))
		require.True(t, s.Score > 0 && s.Score <= 1)
	}
	return texts
}

const (
	pumpText = "Maintenance\n\nThe bearing at the end of the long shaft is  lubricated once every\n500 hours. It " +
		"was built in 1987. Who oils the gearbox? The night shift does.\n\nThe pump moves water to the northern hall."
	bearingSentence = "The bearing at the end of the long shaft is lubricated once every 500 hours."
)

func TestAnAnswerHasTheSentencesThatAnswer(t *testing.T) {
	l := newLibrary(
		[2]string{"Pump 7", pumpText}, [2]string{"Canteen", "Soup is served at noon. Bread is free."},
	)
	for question, want := range map[string]string{
		"How often is the bearing of Pump 7 lubricated?": bearingSentence,
		"When was Pump 7 built?":                         "It was built in 1987.",
		"Who oils the gearbox of Pump 7?":                "The night shift does.",
		"Where does it move water?":                      "The pump moves water to the northern hall.",
		"is there free bread":                            "Bread is free.",
	} {
		for _, vector := range []float64{0, 1} {
			got := l.answer(t, question, func(q *AnswerQuery) { q.MaxSentences, q.Weights.Vector = 1, vector })
			require.Equal(t, []string{want}, got, "%s (vector %v)", question, vector)
		}
	}
	for _, question := range []string{"quantum chromodynamics", "?", "who"} {
		a, err := l.ask(question, nil)
		require.NoError(t, err)
		require.Empty(t, a.Sentences, question)
		require.Empty(t, a.Citations, question)
		require.NotEmpty(t, a.Hits, question)
	}
}

func TestSentencesDoNotRepeatEachOther(t *testing.T) {
	l := newLibrary(
		[2]string{"Fan A", "The fan removes heat from the hall."},
		[2]string{"Fan B", "The fan removes heat from the hall."},
		[2]string{"Fan C", "Heat from the hall: the fan removes it!"},
		[2]string{"Fan D", "Heat of the furnace is measured by a fan with a sensor."},
	)
	for _, vector := range []float64{0, 1} {
		got := l.answer(t, "which fan handles heat?", func(q *AnswerQuery) { q.Weights.Vector = vector })
		require.Equal(t, []string{
			"The fan removes heat from the hall.", "Heat of the furnace is measured by a fan with a sensor.",
		}, got, vector)
	}
}

func TestSentencesAreInTheOrderOfTheirTexts(t *testing.T) {
	l := newLibrary([2]string{"Boiler", "The boiler heats. It was cleaned. The valve of the boiler is stuck."},
		[2]string{"Report", "x"}, [2]string{"Report", "x"}, [2]string{"Report", "x"})
	passage := func(at, index int, text string) {
		id := wikiID(at)
		l.memory.node(graph.Node{
			ID: id, Name: "Report", EntityType: graph.Object, Description: &text, Properties: graph.Properties{
				"document": fmt.Appendf(
					nil, `{"id":%q,"externalId":"r","title":"Report","passage":{"index":%d,"from":0,"to":1}}`, wikiID(1), index,
				),
			},
		})
	}
	l.memory.node(graph.Node{ID: wikiID(1), Name: "Report", EntityType: graph.Object, Properties: graph.Properties{
		"document": fmt.Appendf(
			nil, `{"id":%q,"externalId":"r","title":"Report","sourceUrl":"https://a.example/r","passages":9}`, wikiID(1),
		),
	}})
	passage(2, 5, "Replace the stuck valve of the boiler.")
	passage(3, 2, "A stuck valve overheats.")
	a, err := l.ask("stuck valve boiler", func(q *AnswerQuery) { q.MaxSentences = 10 })
	require.NoError(t, err)
	var got []string
	for _, s := range a.Sentences {
		got = append(got, fmt.Sprint(s.Citation, " ", s.Text))
	}
	require.Equal(t, []string{
		"0 The boiler heats.", "0 The valve of the boiler is stuck.", "1 A stuck valve overheats.",
		"2 Replace the stuck valve of the boiler.",
	}, got)
	require.Empty(t, a.Citations[0].URL)
	require.Equal(t, "https://a.example/r", a.Citations[1].URL)
	require.Equal(t, "https://a.example/r", a.Citations[2].URL)
}

func TestWithoutTheEmbedderAnAnswerIsChosenByWords(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*library)
		texts  int // embedded batches
	}{
		"the texts cannot be embedded": {func(l *library) { l.errTexts = errUnavailable }, 1},
		"a text is refused":            {func(l *library) { l.errTexts = fault.New(fault.Invalid, "no") }, 1},
		"the query cannot be embedded": {func(l *library) { l.errEmbed = errUnavailable }, 0},
	} {
		l := newLibrary([2]string{"Pump 7", pumpText})
		c.change(l)
		a, err := l.ask("when was Pump 7 built", nil)
		require.NoError(t, err, name)
		require.Equal(t, []string{LaneVector}, a.Degraded, name)
		require.Equal(t, "It was built in 1987.", a.Sentences[0].Text, name)
		require.Len(t, l.texts, c.texts, name)
	}
	l := newLibrary([2]string{"Pump 7", pumpText})
	a, err := l.ask("when was Pump 7 built", func(q *AnswerQuery) { q.Weights.Vector = 0 })
	require.NoError(t, err)
	require.Empty(t, a.Degraded, "it was not asked for")
	require.Empty(t, l.texts)

	l.errTexts = errors.New("a defect")
	_, err = l.ask("when was Pump 7 built", nil)
	require.ErrorIs(t, err, l.errTexts)

	l.errText, l.errVector = errUnavailable, errUnavailable
	_, err = l.ask("when was Pump 7 built", nil)
	require.True(t, fault.Is(err, fault.Unavailable))
}

// stoppedEmbedder cancels the request when it embeds texts.
type stoppedEmbedder struct {
	*fakeLanes
	cancel context.CancelCauseFunc
}

func (s *stoppedEmbedder) EmbedTexts(context.Context, []string) ([]embed.Vector, error) {
	s.cancel(context.DeadlineExceeded)
	return nil, errUnavailable
}

func TestAnAnswerStopsAtTheDeadlineOfTheRequest(t *testing.T) {
	l := newLibrary([2]string{"Pump 7", pumpText})
	ctx, cancel := context.WithCancelCause(t.Context())
	e := New(Deps{Text: l, Vectors: l, Graph: l.memory, Embedder: &stoppedEmbedder{l.fakeLanes, cancel}})
	_, err := e.Answer(ctx, AnswerQuery{MaxSentences: 3, HybridQuery: HybridQuery{
		Query: Query{Text: "pump", Limit: 10}, Weights: DefaultWeights(),
	}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestOneBoundedBatchIsEmbedded(t *testing.T) {
	long := strings.Repeat("The pump moves water to the northern hall of the plant. ", 1_100) // 61 KB
	target := "Paint of the gantry peels."
	l := newLibrary([2]string{"A", long}, [2]string{"B", long + target})
	for i := range 10 {
		text := strings.Repeat("x y. ", 13_000)
		l.memory.node(graph.Node{ID: wikiID(10 + i), Name: strings.Repeat("n", 500), Description: &text})
		l.text = append(l.text, TextHit{wikiID(10 + i), 1, 0.5})
	}
	require.Equal(t, target, l.answer(t, "paint of the gantry peels", nil)[0], "words find it in a long text")
	_, err := l.ask(strings.Repeat("pump ", 1_600), nil)
	require.NoError(t, err)
	require.Len(t, l.texts, 2)
	for _, texts := range l.texts {
		require.Len(t, texts, 1+maxCandidateText)
		for _, text := range texts {
			require.LessOrEqual(t, utf8.RuneCountInString(text), maxQuestion)
		}
	}
	l.vectors = []VectorHit{{wikiID(1), 7, 0.9}}
	e := New(Deps{Text: l, Vectors: l, Graph: l.memory, Embedder: l, Chunks: func(n *graph.Node) []Chunk {
		return []Chunk{{Index: 7, Text: target, From: len(long), To: len(*n.Description)}}
	}})
	_, err = e.Answer(t.Context(), AnswerQuery{MaxSentences: 3, HybridQuery: HybridQuery{
		Query: Query{Text: "coating problems", Limit: 10}, Weights: DefaultWeights(),
	}})
	require.NoError(t, err)
	require.Contains(t, l.texts[2], "B: "+target, "a sentence of the found chunk is compared although no word matches")
}

// FuzzChosenSentences checks that any question and texts have an answer within the limits, which is always the same.
func FuzzChosenSentences(f *testing.F) {
	f.Add("How often is the bearing lubricated?", "Pump 7", pumpText, "Soup. Soup? Soup:\n- a b c\n- d e f", uint8(3))
	f.Add("水を", "ポンプ", "水を送る。「水を止まれ。」次へ！終わり", "水", uint8(1))
	f.Add("\xff", "\xfe", "\xff. \xff", "…", uint8(10))
	f.Add("who is who", "Who", "Who? Who is it. The who:\nwho is who of it", "", uint8(2))
	static := embed.NewStatic()
	f.Fuzz(func(t *testing.T, question, name, first, second string, limit uint8) {
		if len(first)+len(second) > 8<<10 || len(question) > 8<<10 {
			return
		}
		var previous []sentence
		for range 2 {
			c := newCandidates(question, []passage{
				{name: name, text: first, group: uuid.UUID{1}}, {name: second, text: second, group: uuid.UUID{2}},
			})
			require.LessOrEqual(t, len(c.list), maxCandidateText)
			if limit%2 == 0 {
				vectors, err := static.Embed(t.Context(), c.texts())
				require.NoError(t, err)
				c.setVectors(embed.Model{}, vectors)
			}
			chosen := c.choose(DefaultWeights(), int(limit%10)+1)
			require.LessOrEqual(t, len(chosen), int(limit%10)+1)
			var list []sentence
			for _, s := range chosen {
				require.True(t, s.relevance > 0 && s.relevance <= 1.000001 && s.share >= 0 && s.share <= 1.000001)
				require.LessOrEqual(t, utf8.RuneCountInString(s.Text), chunk.MaxSentence)
				require.True(t, utf8.ValidString(s.Text))
				list = append(list, *s)
			}
			if previous != nil {
				require.Equal(t, previous, list)
			}
			previous = list
		}
	})
}

// BenchmarkAnswer measures the choice of sentences with the static model, without the search.
func BenchmarkAnswer(b *testing.B) {
	static := embed.NewStatic()
	for name, size := range map[string]int{"passages": 1 << 10, "largest": graph.MaxDescription} {
		sentences := strings.Repeat("The pump of hall 7 moves cooling water to the reactor and hums. ", size/64)
		var passages []passage
		for i := range 10 {
			passages = append(passages, passage{name: "Pump", text: sentences, group: wikiID(i)})
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := newCandidates("what moves water to the reactor of hall 7?", passages)
				vectors, err := static.Embed(b.Context(), c.texts())
				require.NoError(b, err)
				c.setVectors(embed.Model{}, vectors)
				require.NotEmpty(b, c.choose(DefaultWeights(), 3))
			}
		})
	}
}

func TestHeadingsWithNothingNewAreNoAnswers(t *testing.T) {
	l := newLibrary([2]string{"Pump 7", "Bearing of Pump 7\n\nIt is made of steel.\n\nBearing of Pump 7: SKF 6203"})
	for _, vector := range []float64{0, 1} {
		got := l.answer(t, "bearing of Pump 7", func(q *AnswerQuery) { q.Weights.Vector = vector })
		require.NotContains(t, got, "Bearing of Pump 7")
		require.Contains(t, got, "It is made of steel.", "the heading is its context")
		require.Contains(t, got, "Bearing of Pump 7: SKF 6203", "a line with a fact")
	}
}

func TestDescriptionsAreReadUpToALimit(t *testing.T) {
	sentence := "The valve " + strings.Repeat("of the long northern line ", 10) + "is open. "
	long := strings.Repeat(sentence, graph.MaxDescription/len(sentence))
	passages := slices.Repeat([]passage{{name: "Line", text: long}}, 4)
	paint := passage{name: "x", text: strings.Repeat("Paint of the gantry. ", 200)}
	c := newCandidates("gantry paint", append(passages, paint))
	last := maxAnswerText - 4*len(long)
	read := 0
	for _, s := range c.list {
		if s.passage == len(passages) {
			require.LessOrEqual(t, s.To, last)
			read++
		}
	}
	require.Positive(t, read)
	require.LessOrEqual(t, read, last/len("Paint of the gantry."))
	require.Less(t, last, len(paint.text))
}

func TestAQuestionHasNoPages(t *testing.T) {
	l := newLibrary([2]string{"Pump 7", pumpText})
	a, err := l.ask("when was Pump 7 built", func(q *AnswerQuery) { q.Offset, q.ByDocument, q.Explain = 1, true, true })
	require.NoError(t, err)
	require.Len(t, a.Hits, 1)
	require.Nil(t, a.Hits[0].Reasons)
}
