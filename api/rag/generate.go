package rag

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// generated describes a text by the chat model.
type generated struct {
	Model     string              `json:"model"`
	Sentences []generatedSentence `json:"sentences"`
	// RemovedCitations are the numbers in marks that name no passage. The marks are not in the text.
	RemovedCitations []int `json:"removedCitations"`
	Truncated        bool  `json:"truncated"`
}

type generatedSentence struct {
	Text      string  `json:"text"`
	Citations []int   `json:"citations"` // indexes in the citations
	Supported bool    `json:"supported"` // the cited passages contain it
	Support   float64 `json:"support"`
}

// responseGrace is the time for sending a response after it was generated.
const responseGrace = 30 * time.Second

// generate responds with a text by the chat model, or with quoted sentences if it does not write one.
func (q *question) generate(w http.ResponseWriter, r *http.Request) error {
	// The model has a timeout. It may be longer than that of the server for other responses. The read deadline also
	// applies to detecting whether the client is still connected.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // errors: the connection has no deadlines, or is closed
	_ = connection.SetWriteDeadline(time.Time{})
	ctx, stop := untilDraining(r.Context())
	defer stop()
	data, err := q.write(ctx, func(string) error { return nil })
	if err != nil {
		return err
	}
	_ = connection.SetWriteDeadline(time.Now().Add(responseGrace))
	reply.DataWithMeta(w, r, data, q.meta())
	return nil
}

// untilDraining returns a context that is cancelled when the server shuts down.
func untilDraining(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-request.SessionOf(parent).Draining:
			cancel(eventstream.ErrDraining)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// write returns the answer by the chat model. receive is called with each part of its text, before it is checked. If
// the model is unavailable or its text cannot be used, write returns the quoted sentences, and reports it as degraded.
func (q *question) write(ctx context.Context, receive func(part string) error) (answer, error) {
	passages := q.passages()
	done, received := q.Metrics.startGeneration(receive, len(passages))
	written, err := q.Engine.Generate(ctx, retrieval.GenerateQuery{
		Workspace: q.query.Workspace, Question: q.query.Text, Passages: passages, MaxSentences: q.query.MaxSentences,
		Weights: q.query.Weights,
	}, received)
	done(&written, err)
	switch {
	case err == nil:
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), eventstream.ErrDraining):
		return answer{}, err // the client has disconnected, or its key no longer permits the answer
	case isGenerationOutage(err):
		slog.WarnContext(ctx, "an answer is quoted because it was not generated", "error", err)
		q.found.Degraded = append(q.found.Degraded, degradedGeneration)
		return q.quoted(), nil
	default:
		return answer{}, err
	}
	if written.Degraded {
		q.found.Degraded = append(q.found.Degraded, retrieval.LaneVector)
	}
	return q.generated(&written), nil
}

// isGenerationOutage reports whether an error means that the chat model is unavailable or did not write a usable text.
func isGenerationOutage(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.BadGateway, fault.Invalid:
		return true
	}
	return errors.Is(err, eventstream.ErrDraining)
}

// passages returns what the chat model reads: the evidence, with the live values.
func (q *question) passages() []retrieval.Passage {
	passages := q.found.Evidence.Passages
	for i := range passages {
		values := q.live[q.found.Evidence.Citations[i].Hit.Node.ID]
		if values == nil {
			continue
		}
		for _, v := range (*values)[:min(len(*values), retrieval.MaxLiveValues)] {
			passages[i].Values = append(passages[i].Values, v.describe())
		}
	}
	return passages
}

// describe returns the value for the chat model.
func (v *liveValue) describe() string {
	value := fmt.Sprint(v.Value)
	if number, ok := v.Value.(float64); ok {
		value = strconv.FormatFloat(number, 'f', -1, 64)
	}
	if v.Unit != nil {
		value += " " + *v.Unit
	}
	return fmt.Sprintf("%s of %s is %s at %s", v.Metric, v.SourceName, value, v.Timestamp.Format(time.RFC3339))
}

// generated returns a text by the chat model as the answer.
func (q *question) generated(written *retrieval.Generated) answer {
	evidence := &q.found.Evidence
	data := answer{
		Sentences: sentencesOf(evidence.Sentences), Citations: q.citationsOf(evidence.Citations),
		Generated: &generated{
			Model: written.Model, Sentences: make([]generatedSentence, len(written.Sentences)),
			RemovedCitations: append([]int{}, written.RemovedMarks...), Truncated: written.Truncated,
		},
	}
	if written.Text != "" {
		data.Answer = &written.Text
	}
	for i, s := range written.Sentences {
		data.Generated.Sentences[i] = generatedSentence{
			Text: s.Text, Citations: append([]int{}, s.Citations...), Supported: s.Supported, Support: s.Support,
		}
	}
	return data
}
