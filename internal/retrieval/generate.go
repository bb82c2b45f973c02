package retrieval

import (
	"context"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/chat"
)

// ChatModel writes texts; see [chat.Client].
type ChatModel interface {
	Complete(
		ctx context.Context, workspace uuid.UUID, messages []chat.Message, receive func(part string) error,
	) (chat.Completion, error)
	// Model returns the name of the model.
	Model() string
}

// GenerateQuery is a question with the evidence for its answer.
type GenerateQuery struct {
	Workspace    uuid.UUID
	Question     string
	Passages     []Passage
	MaxSentences int
	// Weights are those of the search: without the vector lane, the text is checked by words only.
	Weights Weights
}

// Generated is a text that a chat model wrote from passages.
type Generated struct {
	Model string
	// Text has the marks of its citations, [1] for the first passage. It is empty if the passages do not answer the
	// question.
	Text      string
	Sentences []GeneratedSentence
	// RemovedMarks are the numbers in marks that name no passage, each once, as the model wrote them. The marks are not
	// in Text.
	RemovedMarks []int
	// Truncated reports that the text had more sentences or was longer than allowed.
	Truncated bool
	// Degraded reports that the text was checked by words only although the query uses the vector lane.
	Degraded bool
}

// GeneratedSentence is a sentence of a generated text.
type GeneratedSentence struct {
	Text      string // without marks, with each sequence of white space as a single space
	Citations []int  // indexes of the passages that it cites
	// Support is how much of the sentence the cited passages contain, by words and by meaning, 0 to 1.
	Support float64
	// Supported reports whether they contain it: its words, its numbers and its addresses.
	Supported bool
}

// CanGenerate reports whether a chat model is configured.
func (e *Engine) CanGenerate() bool { return e.deps.Chat != nil }

// Generate requests a text that answers a question from passages, and checks it. receive is called with each part of
// the text as it arrives, unchecked; its error ends the request. Without passages the text is empty, and the model is
// not called. Its errors are faults, except for those of receive and the cause of ctx.
func (e *Engine) Generate(ctx context.Context, q GenerateQuery, receive func(part string) error) (Generated, error) {
	if e.deps.Chat == nil {
		return Generated{}, fault.New(fault.Unavailable, "no chat model is configured")
	}
	g := Generated{Model: e.deps.Chat.Model()}
	if len(q.Passages) == 0 {
		return g, nil
	}
	messages, passages, err := prompt(q.Question, q.Passages, q.MaxSentences, e.deps.MaxPrompt)
	if err != nil {
		return g, err
	}
	filter := textFilter{receive: receive}
	written, err := e.deps.Chat.Complete(ctx, q.Workspace, messages, filter.add)
	if err != nil {
		return g, err
	}
	text := withoutThoughts(written.Text)
	if isNoAnswer(text) {
		return g, nil
	}
	if err := filter.flush(); err != nil {
		return g, err
	}
	cited := parseCited(text, len(passages), q.MaxSentences, written.Truncated)
	if len(cited.sentences) == 0 {
		return g, fault.New(fault.BadGateway, "the chat model's answer has no sentence")
	}
	g.Text, g.RemovedMarks, g.Truncated = cited.text, cited.removed, cited.truncated || written.Truncated
	g.Sentences, g.Degraded, err = e.checkSupport(ctx, cited.sentences, passages, q.Weights)
	return g, err
}

// isNoAnswer reports whether the text is the one that the model writes if it has no answer.
func isNoAnswer(text string) bool {
	return strings.Trim(text, " \t\r\n.\"'`*") == noAnswer
}

// Marks around the thoughts that some models write before their text.
const (
	thoughtsBegin = "<think>"
	thoughtsEnd   = "</think>"
)

// withoutThoughts returns a text without the thoughts and the white space before it.
func withoutThoughts(text string) string {
	trimmed := strings.TrimLeftFunc(text, unicode.IsSpace)
	if !strings.HasPrefix(trimmed, thoughtsBegin) {
		return trimmed
	}
	_, after, _ := strings.Cut(trimmed, thoughtsEnd)
	return strings.TrimLeftFunc(after, unicode.IsSpace)
}

// textFilter holds parts of a text back while it may be thoughts or noAnswer.
type textFilter struct {
	receive func(part string) error
	held    strings.Builder
	begun   bool // nothing is held back any more
}

func (f *textFilter) add(part string) error {
	if f.begun {
		return f.receive(part)
	}
	f.held.WriteString(part)
	text := strings.TrimSpace(f.held.String())
	if strings.HasPrefix(text, thoughtsBegin) && !strings.Contains(text, thoughtsEnd) {
		return nil
	}
	text = strings.TrimSpace(withoutThoughts(text))
	if strings.HasPrefix(thoughtsBegin, text) || strings.HasPrefix(noAnswer, strings.TrimRight(text, ".")) {
		return nil
	}
	return f.flush()
}

// flush sends what was held back.
func (f *textFilter) flush() error {
	if f.begun {
		return nil
	}
	f.begun = true
	if text := withoutThoughts(f.held.String()); text != "" {
		return f.receive(text)
	}
	return nil
}
