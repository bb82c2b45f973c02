package rag

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// answer is the answer to a question: sentences, and where they are from.
type answer struct {
	// Answer has the sentences, each followed by the mark of its citation; nil: no sentence answers the question.
	Answer    *string          `json:"answer"`
	Sentences []answerSentence `json:"sentences"`
	Citations []citation       `json:"citations"`
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

func (a *api) answer(w http.ResponseWriter, r *http.Request) (result retrieval.Result, err error) {
	var body answerBody
	if err := readBody(r, &body); err != nil {
		return result, err
	}
	if err := body.requireScopes(r.Context()); err != nil {
		return result, err
	}
	var c request.Check
	q := body.read(&c, request.PrincipalOf(r.Context()).Workspace)
	if err := c.Err(); err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	found, err := a.Engine.Answer(ctx, q)
	if err != nil {
		return result, err
	}
	data := answerOf(&found)
	if body.IncludeLiveData {
		ids := make([]uuid.UUID, len(data.Citations))
		for i := range data.Citations {
			ids[i] = data.Citations[i].NodeID
		}
		values, err := a.liveDataOf(ctx, q.Workspace, ids)
		if err != nil {
			found.Degraded = append(found.Degraded, degradedLiveData)
		}
		for i := range data.Citations {
			data.Citations[i].LiveData = values[i]
		}
	}
	page := pageRange{limit: q.Limit}
	reply.DataWithMeta(w, r, data, page.meta(&found.Result, len(found.Hits)))
	return found.Result, nil
}

// answerOf returns an answer for the response.
func answerOf(found *retrieval.Answer) answer {
	data := answer{
		Sentences: make([]answerSentence, len(found.Sentences)), Citations: make([]citation, len(found.Citations)),
	}
	var text strings.Builder
	for i, s := range found.Sentences {
		data.Sentences[i] = answerSentence{Text: s.Text, Citation: s.Citation, Start: s.From, End: s.To, Score: s.Score}
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(s.Text + " [" + strconv.Itoa(s.Citation+1) + "]")
	}
	if len(found.Sentences) > 0 {
		data.Answer = new(text.String())
	}
	for i, source := range found.Citations {
		n := &source.Hit.Node
		data.Citations[i] = citation{
			NodeID: n.ID, Name: n.Name, EntityType: string(n.EntityType), Document: documentOf(n), SourceURL: source.URL,
			Score: source.Hit.Score,
		}
	}
	return data
}
