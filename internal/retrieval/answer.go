package retrieval

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// AnswerQuery is a question. Its Offset, ByDocument and Explain are not used.
type AnswerQuery struct {
	HybridQuery
	MaxSentences int // 1 to 10
}

// Answer is the answer to a question: sentences of the descriptions of nodes.
type Answer struct {
	Result             // what was searched; its Hits are the nodes whose descriptions were read
	Sentences []Quote  // in an order to read; empty: no sentence answers the question
	Citations []Source // of the sentences, in the order in which they are cited first
}

// Quote is a sentence of an answer.
type Quote struct {
	Text     string  // with each sequence of white space as a single space
	Citation int     // index in Answer.Citations
	From, To int     // position in the description of the node, in bytes
	Score    float64 // relevance for the question, 0 to 1
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
func Lanes() []string { return []string{LaneText, LaneVector, LaneGraph, laneSentences} }

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
		} else if err != nil && !isUnavailable(err) && !fault.Is(err, fault.Invalid) {
			return Answer{}, err
		} else if err != nil {
			a.Degraded = append(a.Degraded, LaneVector)
		}
	}
	a.quote(c.choose(q.Weights, q.MaxSentences))
	return a, e.addURLs(ctx, q.Workspace, a.Citations)
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
		c.setVectors(vectors)
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

// quote adds the chosen sentences, whose passages are the hits.
func (a *Answer) quote(chosen []*sentence) {
	citations := map[int]int{} // hit -> index in a.Citations
	for _, s := range chosen {
		index, cited := citations[s.passage]
		if !cited {
			index = len(a.Citations)
			citations[s.passage] = index
			a.Citations = append(a.Citations, Source{Hit: &a.Hits[s.passage]})
		}
		a.Sentences = append(a.Sentences, Quote{
			Text: s.Text, Citation: index, From: s.From, To: s.To, Score: min(max(s.relevance, 0), 1),
		})
	}
}

// addURLs adds the addresses of the documents. Passages have only the id of their document, whose own node has the
// address.
func (e *Engine) addURLs(ctx context.Context, workspace uuid.UUID, sources []Source) error {
	var ids []uuid.UUID
	for _, s := range sources {
		if mark := document.MarkOf(&s.Hit.Node); mark != nil && mark.Passage != nil {
			ids = append(ids, mark.ID)
		}
	}
	nodes := map[uuid.UUID]graph.Node{}
	if len(ids) > 0 {
		slices.SortFunc(ids, compareIDs)
		var err error
		if nodes, err = e.deps.Graph.ReadNodes(ctx, workspace, slices.Compact(ids), Filter{}); err != nil {
			return err
		}
	}
	for i := range sources {
		mark := document.MarkOf(&sources[i].Hit.Node)
		if mark == nil {
			continue
		}
		if n, ok := nodes[mark.ID]; ok && mark.Passage != nil {
			mark = document.OwnMark(&n)
		}
		if mark != nil {
			sources[i].URL = mark.SourceURL
		}
	}
	return nil
}

// cosine returns the cosine of two vectors of length 1, 0 if it is negative or one of them is nil.
func cosine(a, b embed.Vector) float64 {
	if len(a) != len(b) {
		return 0
	}
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return min(max(sum, 0), 1)
}
