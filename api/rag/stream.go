package rag

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

// Events of a stream with an answer.
const (
	eventToken  = "token"  // a part of the text, before it is checked
	eventAnswer = "answer" // the whole answer; the last event
	eventError  = "error"  // the last event instead
)

// token is the data of a part of a text.
type token struct {
	Text string `json:"text"`
}

// stream responds with a stream: parts of the text as the chat model writes them, and then the whole answer.
func (q *question) stream(w http.ResponseWriter, r *http.Request) error {
	out, err := eventstream.Open(w, q.WriteTimeout)
	if err != nil {
		return err
	}
	ctx, stop := out.Guard(r.Context(), request.SessionOf(r.Context()))
	defer stop()
	data, err := q.streamParts(ctx, out)
	if err == nil {
		var event []byte
		if event, err = reply.EncodeData(ctx, data, q.meta()); err == nil {
			out.EventWithID(eventAnswer, "", event)
			if out.Flush() != nil {
				return errDisconnected
			}
			return nil
		}
	}
	if r.Context().Err() != nil || errors.Is(err, errDisconnected) {
		return errDisconnected
	}
	if event, errEncode := reply.EncodeError(ctx, err); errEncode == nil {
		out.EventWithID(eventError, "", event)
		_ = out.Flush() // an error means that the client has disconnected or is too slow
	}
	return &sentError{err}
}

// errDisconnected is the error of a stream whose reader has disconnected or is too slow.
var errDisconnected = &sentError{context.Canceled}

// streamParts sends the parts of the text, and heartbeats, and returns the answer.
func (q *question) streamParts(ctx context.Context, out *eventstream.Writer) (answer, error) {
	out.Comment("an answer") // shows the reader that the stream is open
	if out.Flush() != nil {
		return answer{}, errDisconnected
	}
	if !q.query.Evidence {
		return q.quoted(), nil
	}
	writing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts, ended := make(chan string), make(chan struct{})
	var (
		data answer
		err  error
	)
	go func() {
		defer close(ended)
		data, err = q.write(writing, func(part string) error {
			select {
			case parts <- part:
				return nil
			case <-writing.Done():
				return context.Cause(writing)
			}
		})
	}()
	beat := time.NewTicker(eventstream.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case part := <-parts:
			event, errEncode := json.Marshal(token{part})
			if errEncode != nil {
				continue // it is not valid UTF-8, and the answer has the whole text
			}
			out.EventWithID(eventToken, "", event)
		case <-beat.C:
			out.Comment("heartbeat")
		case <-ended:
			return data, err
		}
		if out.Flush() != nil {
			cancel(errDisconnected) // the request to the model, too
			<-ended
			return answer{}, errDisconnected
		}
	}
}
