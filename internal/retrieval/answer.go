package retrieval

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// AnswerQuery is a question. Its Offset, ByDocument and Explain are not used.
type AnswerQuery struct {
	HybridQuery
	MaxSentences int // 1 to 10
	// Evidence reports that a text is to be generated, which requires evidence.
	Evidence bool
}

// Answer is the answer to a question: sentences of the descriptions of nodes.
type Answer struct {
	Result             // what was searched; its Hits are the nodes whose descriptions were read
	Sentences []Quote  // in an order to read; empty: no sentence answers the question
	Citations []Source // of the sentences, in the order in which they are cited first
	Evidence  Evidence // only if the query requires it
}

// Quote is a sentence of an answer.
type Quote struct {
	Text     string  // with each sequence of white space as a single space
	Citation int     // index in Answer.Citations
	From, To int     // position in the description of the node, in bytes
	Score    float64 // relevance for the question, 0 to 1

	vector embed.Vector // nil: it is not known
}

// Source is a node whose description a sentence is from.
type Source struct {
	Hit *Hit
	// URL is the address from which the document of the node is; empty: it is not known.
	URL string
}

// laneSentences is the embedding of the sentences of an answer. It is observed like a lane.
const laneSentences = "sentences"

// Lanes returns the names of lanes that Deps.Observe receives.
func Lanes() []string { return []string{LaneText, LaneVector, LaneGraph, laneSentences, laneRerank} }

// Answer searches as Hybrid does, and chooses those sentences of the descriptions of the first Limit results that
// answer the question. Sentences are compared with the question by words, and by meaning if the query uses the vector
// lane. If the lane or the embedder is unavailable, Answer uses only words, and Result.Degraded names the vector lane.
func (e *Engine) Answer(ctx context.Context, q AnswerQuery) (Answer, error) {
	q.Offset, q.ByDocument, q.Explain = 0, false, false
	result, err := e.Hybrid(ctx, q.HybridQuery)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Result: result}
	c := newCandidates(q.Text, passagesOf(a.Hits))
	if q.Weights.Vector > 0 && !slices.Contains(a.Degraded, LaneVector) {
		if err := e.embedCandidates(ctx, c); ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		} else if err != nil && !isUnavailableOrRefused(err) {
			return Answer{}, err
		} else if err != nil {
			a.Degraded = append(a.Degraded, LaneVector)
		}
	}
	a.Sentences, a.Citations = quote(a.Hits, c.choose(q.Weights, q.MaxSentences))
	if q.Evidence {
		a.Evidence = c.evidence(a.Hits, q.Weights, e.evidenceBytes(q.Text))
	}
	return a, e.addURLs(ctx, q.Workspace, a.Citations, a.Evidence.Citations)
}

// embedCandidates computes the vectors of the question and of the sentences in one batch.
func (e *Engine) embedCandidates(ctx context.Context, c *candidates) error {
	if len(c.list) == 0 {
		return nil
	}
	return e.runLane(ctx, laneSentences, func(ctx context.Context) error {
		vectors, err := e.deps.Embedder.EmbedTexts(ctx, c.texts())
		if err != nil {
			return err
		}
		c.setVectors(e.deps.Embedder.Model(), vectors)
		return nil
	})
}

// passagesOf returns the descriptions of the hits.
func passagesOf(hits []Hit) []passage {
	list := make([]passage, len(hits))
	for i := range hits {
		hit := &hits[i]
		p := &list[i]
		*p = passage{name: hit.Node.Name, group: hit.Node.ID}
		if hit.Node.Description != nil {
			p.text = *hit.Node.Description
		}
		if hit.Chunk != nil {
			p.focusFrom, p.focusTo = hit.Chunk.From, hit.Chunk.To
		}
		if mark := document.MarkOf(&hit.Node); mark != nil && mark.Passage != nil {
			p.group, p.index = mark.ID, mark.Passage.Index
		}
	}
	return list
}

// quote returns the chosen sentences, whose passages are the hits, and their sources.
func quote(hits []Hit, chosen []*sentence) (quotes []Quote, sources []Source) {
	citations := map[int]int{} // hit -> index in sources
	for _, s := range chosen {
		index, cited := citations[s.passage]
		if !cited {
			index = len(sources)
			citations[s.passage] = index
			sources = append(sources, Source{Hit: &hits[s.passage]})
		}
		quotes = append(quotes, Quote{
			Text: s.Text, Citation: index, From: s.From, To: s.To, Score: min(max(s.relevance, 0), 1), vector: s.vector,
		})
	}
	return quotes, sources
}

// addURLs adds the addresses of the documents. Passages have only the id of their document, whose own node has the
// address.
func (e *Engine) addURLs(ctx context.Context, workspace uuid.UUID, lists ...[]Source) error {
	var ids []uuid.UUID
	for _, s := range slices.Concat(lists...) {
		if mark := document.MarkOf(&s.Hit.Node); mark != nil && mark.Passage != nil {
			ids = append(ids, mark.ID)
		}
	}
	nodes := map[uuid.UUID]graph.Node{}
	if len(ids) > 0 {
		slices.SortFunc(ids, uuids.Compare)
		var err error
		if nodes, err = e.deps.Graph.ReadNodes(ctx, workspace, slices.Compact(ids), Filter{}); err != nil {
			return err
		}
	}
	for _, sources := range lists {
		for i := range sources {
			sources[i].URL = urlOf(&sources[i].Hit.Node, nodes)
		}
	}
	return nil
}

// urlOf returns the address of the document of a node; nodes has the documents of passages.
func urlOf(node *graph.Node, nodes map[uuid.UUID]graph.Node) string {
	mark := document.MarkOf(node)
	if mark == nil {
		return ""
	}
	if n, ok := nodes[mark.ID]; ok && mark.Passage != nil {
		mark = document.OwnMark(&n)
	}
	if mark == nil {
		return ""
	}
	return mark.SourceURL
}

// scaledCosine returns the scaled cosine of two vectors of a model, 0 if it is negative or one of them is nil.
func scaledCosine(model embed.Model, a, b embed.Vector) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return min(max(model.Similarity(sum), 0), 1)
}

// isUnavailableOrRefused reports whether an error of the embedder is temporary, or it refuses a text.
func isUnavailableOrRefused(err error) bool {
	return isUnavailable(err) || fault.Is(err, fault.Invalid)
}
