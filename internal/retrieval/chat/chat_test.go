package chat_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/chat"
	"github.com/livegraph/livegraph/test/chatmodel"
)

var question = []chat.Message{{Role: chat.RoleSystem, Content: "Answer."}, {Role: chat.RoleUser, Content: "TENANT"}}

func options(s *chatmodel.Server) chat.Options {
	return chat.Options{
		URL: s.URL, Key: chatmodel.Key, Model: chatmodel.Model, AllowPrivateAddresses: true, Timeout: 5 * time.Second,
		IdleTimeout: 5 * time.Second, MaxTokens: 64, Concurrency: 4, Retries: 1,
	}
}

func client(t testing.TB, o chat.Options) *chat.Client {
	t.Helper()
	c, err := chat.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// complete returns a text and its parts.
func complete(t testing.TB, c *chat.Client) (chat.Completion, []string, error) {
	t.Helper()
	var parts []string
	done, err := c.Complete(t.Context(), uuid.Nil, question, func(part string) error {
		parts = append(parts, part)
		return nil
	})
	return done, parts, err
}

func TestATextIsReceivedInPartsOrWhole(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	c := client(t, options(s))
	for name, handler := range map[string]chatmodel.Handler{
		"streamed": func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
			chatmodel.Write(w, "stop", "It ", "runs.")
		},
		"without a done mark": func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
			chatmodel.Part(w, "It ")
			chatmodel.Event(w, `{"choices":[{"delta":{"content":"runs."},"finish_reason":"stop"}],"usage":null}`)
		},
		"with usage, other choices and comments": func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, "\ufeff: wait\r\n\r\nevent: x\rid: 1\r\rdata:\n\n")
			chatmodel.Event(w, `{"choices":[],"prompt_filter_results":[]}`)
			chatmodel.Part(w, "It ")
			chatmodel.Event(w, `{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"runs."}}]}`)
			chatmodel.Event(w, "{\"choices\":[{\"delta\":{\"content\":null},\ndata: \"finish_reason\":\"stop\"}]}")
			chatmodel.Event(w, `{"choices":[],"usage":{"total_tokens":3}}`)
			chatmodel.Event(w, "[DONE]")
		},
		"not streamed": func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
			chatmodel.WriteWhole(w, "It ", "runs.")
		},
	} {
		s.Handle(handler)
		done, parts, err := complete(t, c)
		require.NoError(t, err, name)
		require.Equal(t, chat.Completion{Text: "It runs."}, done, name)
		require.Equal(t, "It runs.", strings.Join(parts, ""), name)
	}
	q := s.Last(t)
	require.Equal(t, chatmodel.Model, q.Model)
	require.True(t, q.Stream)
	require.Equal(t, 64, q.MaxTokens)
	require.Zero(t, *q.Temperature)
	require.Equal(t, []chatmodel.Message{
		{Role: "system", Content: "Answer."}, {Role: "user", Content: "TENANT"},
	}, q.Messages)

	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) { chatmodel.Write(w, "length", "It") })
	done, _, err := complete(t, c)
	require.NoError(t, err)
	require.Equal(t, chat.Completion{Text: "It", Truncated: true}, done)
}

func TestModelsThatReasonAreSentOtherParameters(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	s.Handle(func(w http.ResponseWriter, _ *http.Request, q *chatmodel.Request) {
		if q.MaxTokens > 0 || q.Temperature != nil {
			chatmodel.Refuse(w, http.StatusBadRequest, "unsupported_parameter")
			return
		}
		chatmodel.Write(w, "stop", fmt.Sprint(q.MaxCompletionTokens))
	})
	c := client(t, options(s))
	for range 2 {
		done, _, err := complete(t, c)
		require.NoError(t, err)
		require.Equal(t, "64", done.Text)
	}
	require.Len(t, s.Requests(), 3, "it is remembered")
}

func TestAnswersThatCannotBeUsedAreFaultsWithoutTexts(t *testing.T) {
	t.Parallel()
	event := func(data ...string) chatmodel.Handler {
		return func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
			for _, d := range data {
				chatmodel.Event(w, d)
			}
		}
	}
	status := func(status int, code string) chatmodel.Handler {
		return func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) { chatmodel.Refuse(w, status, code) }
	}
	whole := func(body string) chatmodel.Handler {
		return func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) { _, _ = io.WriteString(w, body) }
	}
	const part = `{"choices":[{"delta":{"content":"TENANT"}}]}`
	for name, c := range map[string]struct {
		handler  chatmodel.Handler
		kind     fault.Kind
		contains string
	}{
		"nothing":        {event(), fault.BadGateway, "not what OpenAI's API answers"},
		"no text":        {event(`{"choices":[{"finish_reason":"stop"}]}`), fault.BadGateway, "has no text"},
		"cut off":        {event(part), fault.BadGateway, "ends before its text"},
		"done too early": {event(part, "[DONE]"), fault.BadGateway, "ends before its text"},
		"no JSON":        {event(part, "TENANT"), fault.BadGateway, "not what OpenAI's API answers"},
		"wrong types":    {event(`{"choices":[{"delta":{"content":["TENANT"]}}]}`), fault.BadGateway, "not what"},
		"an error": {
			event(part, `{"error":{"code":"overloaded","message":"TENANT"}}`), fault.BadGateway, "overloaded",
		},
		"filtered":           {event(`{"choices":[{"finish_reason":"content_filter"}]}`), fault.Invalid, "the model refuses"},
		"a refusal":          {event(`{"choices":[{"delta":{"refusal":"TENANT"}}]}`), fault.Invalid, "the model refuses"},
		"a text without end": {endless(part), fault.BadGateway, "too long"},
		"a line without end": {endlessLine, fault.BadGateway, "too long"},
		"events without end": {endless(`{"choices":[]}`), fault.BadGateway, "too long"},
		"comments without end": {func(w http.ResponseWriter, r *http.Request, _ *chatmodel.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ": wait\n\n")
			}
		}, fault.BadGateway, "too long"},
		"a long event":  {event(part[:len(part)-2] + strings.Repeat("\ndata: x", 40<<10)), fault.BadGateway, "too long"},
		"no stream":     {whole("<html>TENANT"), fault.BadGateway, "not what"},
		"a whole error": {whole(`{"error":{"type":"overloaded"}}`), fault.BadGateway, "overloaded"},
		"half of a whole": {
			whole(`{"choices":[{"message":{"content":"TENANT"}}]}`), fault.BadGateway, "ends before its text",
		},
		"an endless whole": {whole(strings.Repeat(" ", 9<<20)), fault.BadGateway, "too long"},
		"down":             {status(503, "x"), fault.Unavailable, "answered 503"},
		"busy":             {status(429, "rate_limit_exceeded"), fault.Unavailable, "asked too often"},
		"account used up":  {status(429, "insufficient_quota"), fault.BadGateway, "used up"},
		"wrong key":        {status(401, "invalid_api_key"), fault.BadGateway, "refuses our key"},
		"no model":         {status(404, "model_not_found"), fault.BadGateway, "no such model"},
		"too much text":    {status(400, "context_length_exceeded"), fault.Invalid, "context_length_exceeded"},
		"a redirect":       {status(302, "x"), fault.BadGateway, "answered 302"},
		"hangs up": {
			func(http.ResponseWriter, *http.Request, *chatmodel.Request) { panic(http.ErrAbortHandler) }, fault.Unavailable,
			"does not answer",
		},
		"hangs up within the text": {func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
			chatmodel.Event(w, part)
			panic(http.ErrAbortHandler)
		}, fault.Unavailable, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chatmodel.Start(t)
			s.Handle(c.handler)
			o := options(s)
			o.Retries, o.Timeout, o.IdleTimeout = 0, 5*time.Minute, 5*time.Minute // a bound of the size ends it, not the time
			model := client(t, o)
			_, _, err := complete(t, model)
			require.True(t, fault.Is(err, c.kind), "%v", err)
			require.ErrorContains(t, err, c.contains)
			var logged strings.Builder
			slog.New(slog.NewTextHandler(&logged, nil)).Error("failed", "error", err, "model", model)
			for _, secret := range []string{chatmodel.Key, "TENANT", "SECRET"} {
				require.NotContains(t, logged.String(), secret)
			}
		})
	}
}

func endless(data string) chatmodel.Handler {
	return func(w http.ResponseWriter, r *http.Request, _ *chatmodel.Request) {
		for r.Context().Err() == nil {
			chatmodel.Event(w, data)
		}
	}
}

func endlessLine(w http.ResponseWriter, r *http.Request, _ *chatmodel.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: ")
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<10))
	}
}
