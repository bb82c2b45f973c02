package chat

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
)

// Message is a message of a conversation.
type Message struct {
	Role    string `json:"role"` // RoleSystem or RoleUser
	Content string `json:"content"`
}

// Roles of messages.
const (
	RoleSystem = "system"
	RoleUser   = "user"
)

// completionRequest is a request of OpenAI's chat API. Models that reason do not accept MaxTokens and Temperature but
// MaxCompletionTokens, which older servers do not know.
type completionRequest struct {
	Model               string    `json:"model"`
	Messages            []Message `json:"messages"`
	Stream              bool      `json:"stream"`
	Temperature         *float64  `json:"temperature,omitzero"`
	MaxTokens           int       `json:"max_tokens,omitzero"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitzero"`
}

// completionChunk has the fields of a response, or of an event of it, that are used.
type completionChunk struct {
	Choices []struct {
		Index        int      `json:"index"`
		Delta        fragment `json:"delta"`   // of an event
		Message      fragment `json:"message"` // of a response that is not streamed
		FinishReason string   `json:"finish_reason"`
	} `json:"choices"`
	Error *struct {
		Type any `json:"type"`
		Code any `json:"code"`
	} `json:"error"`
}

type fragment struct {
	Content string `json:"content"`
	Refusal string `json:"refusal"`
}

// Reasons why a text ends, beside those of the model itself.
const (
	finishedByLength = "length"
	finishedByFilter = "content_filter"
)

// doneMark is the data of the last event of a stream.
const doneMark = "[DONE]"

// decodeChunk decodes a response, or the data of an event.
func decodeChunk(data []byte) (chunk completionChunk, err error) {
	err = json.Unmarshal(data, &chunk, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return chunk, errors.New("the answer is not what OpenAI's API answers") // err may quote texts
	}
	return chunk, nil
}

// text collects the text of a response.
type text struct {
	client   *openai.Client
	limit    int // bytes
	receive  func(part string) error
	content  strings.Builder
	finished string // the reason; empty: it is not finished
}

// errUnfinished is the error of a response that ends before its text does.
var errUnfinished = errors.New("the answer ends before its text")

// readStream reads the events of a response. progress is called for each.
func (t *text) readStream(body io.Reader, progress func()) error {
	stream := newEvents(body)
	for {
		data, err := stream.next()
		switch {
		case errors.Is(err, io.EOF) && t.finished == "":
			return t.client.InvalidResponse(errUnfinished)
		case errors.Is(err, io.EOF), string(data) == doneMark && t.finished != "":
			return nil
		case errors.Is(err, errTooLong):
			return t.client.InvalidResponse(err)
		case err != nil:
			return err
		case string(data) == doneMark:
			return t.client.InvalidResponse(errUnfinished)
		}
		progress()
		chunk, err := decodeChunk(data)
		if err != nil {
			return t.client.InvalidResponse(err)
		}
		if err := t.add(&chunk); err != nil {
			return err
		}
	}
}

// readWhole reads a response of a server that does not stream.
func (t *text) readWhole(body io.Reader) error {
	raw, err := openai.ReadAtMost(body, maxStream)
	if errors.Is(err, openai.ErrTooLong) {
		return t.client.InvalidResponse(errTooLong)
	} else if err != nil {
		return err
	}
	chunk, err := decodeChunk(raw)
	if err != nil {
		return t.client.InvalidResponse(err)
	}
	if err := t.add(&chunk); err != nil {
		return err
	}
	if t.finished == "" {
		return t.client.InvalidResponse(errUnfinished)
	}
	return nil
}

// add adds what a chunk contains.
func (t *text) add(chunk *completionChunk) error {
	if e := chunk.Error; e != nil {
		cause := errors.New(strings.TrimSpace("it reported an error " + openai.ErrorWord(e.Type) + " " +
			openai.ErrorWord(e.Code)))
		return t.client.InvalidResponse(cause)
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		if choice.Delta.Refusal != "" || choice.Message.Refusal != "" {
			return t.refusal()
		}
		part := choice.Delta.Content + choice.Message.Content
		if t.content.Len()+len(part) > t.limit {
			return t.client.InvalidResponse(errTooLong)
		}
		if part != "" {
			t.content.WriteString(part)
			if err := t.receive(part); err != nil {
				return err
			}
		}
		switch choice.FinishReason {
		case "": // it continues
		case finishedByFilter:
			return t.refusal()
		default:
			t.finished = choice.FinishReason
		}
	}
	return nil
}

// refusal returns the fault of a model that refuses to answer.
func (t *text) refusal() error {
	return fault.Wrap(errors.New("the model refuses"), fault.Invalid, "the chat model refuses the text")
}
