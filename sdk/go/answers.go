package livegraph

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
)

// AnswerPart is a part of an answer that is received while it is written.
type AnswerPart struct {
	// Text is a part of the text by the chat model, before it is checked; "" in the last part.
	Text string
	// Answer is the whole answer, only in the last part. It replaces the texts of the others.
	Answer *Answer
	// Degraded lists what is missing in the answer. generation: the chat model did not write it, and it is quoted.
	Degraded []string
}

// AnswerStream iterates over the parts of an answer while a chat model writes it. The last part has the whole answer.
// The request is sent again after temporary errors before the first part. The request ends when the loop is left.
func (s *Search) AnswerStream(ctx context.Context, query AnswerQuery) iter.Seq2[AnswerPart, error] {
	return func(yield func(AnswerPart, error) bool) {
		r, err := answer.withBody(query)
		if err != nil {
			yield(AnswerPart{}, err)
			return
		}
		stream := newEventStream(s.t, r, "")
		if err := stream.Open(ctx); err != nil {
			yield(AnswerPart{}, err)
			return
		}
		opened := stream.opened
		stream.opened = nil
		_, ended, err := stream.read(opened, func(event Event, err error) bool {
			var part AnswerPart
			if err == nil {
				part, err = answerPart(&event)
			}
			return yield(part, err) && err == nil && part.Answer == nil
		})
		if ended { // without an answer
			if errors.Is(err, io.EOF) {
				err = &ResponseError{Message: "the stream ended before the answer", Err: io.ErrUnexpectedEOF}
			}
			yield(AnswerPart{}, err)
		}
	}
}

// answerPart returns the content of an event of an answer.
func answerPart(event *Event) (part AnswerPart, err error) {
	switch event.Type {
	case "token":
		token, err := eventData[struct{ Text string }](event)
		return AnswerPart{Text: token.Text}, err
	case "answer":
		content, err := eventData[struct {
			Data *Answer
			Meta struct{ Degraded []string }
		}](event)
		if err == nil && content.Data == nil {
			err = &ResponseError{Message: "the event answer has no answer"}
		}
		return AnswerPart{Answer: content.Data, Degraded: content.Meta.Degraded}, err
	case "error":
		e := &APIError{Message: "the answer failed"}
		var content problem
		if json.Unmarshal(event.Data, &content) == nil {
			e.read(content.Error)
			e.RequestID = content.RequestID
		}
		return part, e
	}
	return part, &ResponseError{Message: "the event " + event.Type + " is not one of an answer"}
}
