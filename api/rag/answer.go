package rag

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// answer is the answer to a question: sentences, and where they are from.
type answer struct {
	// Answer has the sentences, each followed by the mark of its citation, or the text by the chat model; nil: nothing
	// answers the question.
	Answer    *string          `json:"answer"`
	Sentences []answerSentence `json:"sentences"`
	Citations []citation       `json:"citations"`
	// Generated describes the text by the chat model; nil: the sentences are quoted.
	Generated *generated `json:"generated,omitzero"`
}

type answerSentence struct {
	Text     string `json:"text"`
	Citation int    `json:"citation"` // index in the citations
	// Start and End are the position in the description of the node, in bytes of UTF-8.
	Start int     `json:"start"`
	End   int     `json:"end"`
	Score float64 `json:"score"`
}

// citation is a node whose description has sentences of the answer.
type citation struct {
	NodeID     uuid.UUID    `json:"nodeId"`
	Name       string       `json:"name"`
	EntityType string       `json:"entityType"`
	Document   *hitDocument `json:"document,omitzero"`
	SourceURL  string       `json:"sourceUrl,omitzero"`
	Score      float64      `json:"score"`
	LiveData   *[]liveValue `json:"liveData,omitzero"` // optional; the request must enable it
}

// question is a request for an answer.
type question struct {
	*api
	query       retrieval.AnswerQuery
	includeLive bool
	found       retrieval.Answer
	live        map[uuid.UUID]*[]liveValue // of the cited nodes, if it is included
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) (result retrieval.Result, err error) {
	var body answerBody
	if err := readBody(r, &body); err != nil {
		return result, err
	}
	return a.respondToQuestion(w, r, &body)
}

// respondToQuestion responds with the answer to the question of a body.
func (a *api) respondToQuestion(
	w http.ResponseWriter, r *http.Request, body *answerBody,
) (result retrieval.Result, err error) {
	if err := body.requireScopes(r.Context()); err != nil {
		return result, err
	}
	var c request.Check
	q := question{api: a, includeLive: body.IncludeLiveData}
	q.query = body.read(&c, request.PrincipalOf(r.Context()).Workspace, a.models())
	if err := c.Err(); err != nil {
		return result, err
	}
	if err := q.find(r.Context()); err != nil {
		return result, err
	}
	switch {
	case eventstream.Accepted(r.Header):
		err = q.stream(w, r)
	case q.query.Evidence:
		err = q.generate(w, r)
	default:
		reply.DataWithMeta(w, r, q.quoted(), q.meta())
	}
	return q.found.Result, err
}

// find finds the sentences, the evidence and the live values.
func (q *question) find(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, q.QueryTimeout)
	defer cancel()
	if q.found, err = q.Engine.Answer(ctx, q.query); err != nil || !q.includeLive {
		return err
	}
	q.live = map[uuid.UUID]*[]liveValue{}
	var ids []uuid.UUID
	for _, list := range [][]retrieval.Source{q.found.Citations, q.found.Evidence.Citations} {
		for i := range list {
			if id := list[i].Hit.Node.ID; q.live[id] == nil {
				q.live[id] = &[]liveValue{}
				ids = append(ids, id)
			}
		}
	}
	values, err := q.liveDataOf(ctx, q.query.Workspace, ids)
	if err != nil {
		q.found.Degraded = append(q.found.Degraded, degradedLiveData)
	}
	for i, id := range ids {
		q.live[id] = values[i]
	}
	return nil
}

// quoted returns the quoted sentences as the answer.
func (q *question) quoted() answer {
	data := answer{Sentences: sentencesOf(q.found.Sentences), Citations: q.citationsOf(q.found.Citations)}
	var text strings.Builder
	for i, s := range q.found.Sentences {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(s.Text + " [" + strconv.Itoa(s.Citation+1) + "]")
	}
	if len(q.found.Sentences) > 0 {
		data.Answer = new(text.String())
	}
	return data
}

func (q *question) meta() reply.Meta {
	page := pageRange{limit: q.query.Limit}
	return page.meta(&q.found.Result, len(q.found.Hits))
}

func sentencesOf(quotes []retrieval.Quote) []answerSentence {
	list := make([]answerSentence, len(quotes))
	for i, s := range quotes {
		list[i] = answerSentence{Text: s.Text, Citation: s.Citation, Start: s.From, End: s.To, Score: s.Score}
	}
	return list
}

func (q *question) citationsOf(sources []retrieval.Source) []citation {
	list := make([]citation, len(sources))
	for i, source := range sources {
		n := &source.Hit.Node
		list[i] = citation{
			NodeID: n.ID, Name: n.Name, EntityType: string(n.EntityType), Document: documentOf(n), SourceURL: source.URL,
			Score: source.Hit.Score, LiveData: q.live[n.ID],
		}
	}
	return list
}
