package rag

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// writingEngine is an engine with one sentence, whose texts a test writes.
type writingEngine struct {
	engine
	generate func(ctx context.Context, receive func(part string) error) (retrieval.Generated, error)
}

func (e *writingEngine) Answer(context.Context, retrieval.AnswerQuery) (retrieval.Answer, error) {
	hit := &retrieval.Hit{Node: graph.Node{ID: uuid.UUID{7}, Name: "Pump 7", EntityType: graph.Object}, Score: 1}
	quotes, sources := []retrieval.Quote{{Text: "It hums.", To: 8, Score: 1}}, []retrieval.Source{{Hit: hit}}
	return retrieval.Answer{
		Sentences: quotes, Citations: sources,
		Evidence: retrieval.Evidence{
			Sentences: quotes, Citations: sources, Passages: []retrieval.Passage{{Text: "It hums."}},
		},
	}, nil
}

func (e *writingEngine) CanGenerate() bool { return true }

func (e *writingEngine) MaxRerank() int { return 0 }

func (e *writingEngine) Generate(
	ctx context.Context, _ retrieval.GenerateQuery, receive func(part string) error,
) (retrieval.Generated, error) {
	return e.generate(ctx, receive)
}

// askEngine sends a question for a text to the routes, and returns the body of the response, which has status 200.
func askEngine(t *testing.T, e *writingEngine, accept string, session request.Session) string {
	t.Helper()
	metrics := NewMetrics(nil)
	routes := Routes(Deps{Engine: e, QueryTimeout: time.Minute, WriteTimeout: time.Minute, Metrics: metrics})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := request.WithPrincipal(request.WithSession(r.Context(), session), &request.Principal{})
		ctx = reply.WithRequestID(ctx, "req_1")
		for _, rt := range routes {
			if rt.Pattern == answerPath {
				if err := rt.Handle(w, r.WithContext(ctx)); err != nil {
					reply.Error(w, r, err)
				}
			}
		}
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, server.URL+answerPath, strings.NewReader(`{"query":"does it hum?","mode":"generate"}`),
	)
	require.NoError(t, err)
	r.Header.Set("Accept", accept)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func always(err error) request.Session {
	return request.Session{Recheck: func(context.Context) error { return err }}
}

func TestAStreamHasThePartsAndTheAnswer(t *testing.T) {
	t.Parallel()
	e := &writingEngine{generate: func(_ context.Context, receive func(string) error) (retrieval.Generated, error) {
		require.NoError(t, receive("It "))
		require.NoError(t, receive("hums\n[1]."))
		return retrieval.Generated{Model: "m", Text: "It hums [1].", Sentences: []retrieval.GeneratedSentence{
			{Text: "It hums.", Citations: []int{0}, Support: 1, Supported: true},
		}}, nil
	}}
	const data = `"data":{"answer":"It hums [1].","sentences":[{"text":"It hums.","citation":0,"start":0,"end":8,` +
		`"score":1}],"citations":[{"nodeId":"07000000-0000-0000-0000-000000000000","name":"Pump 7","entityType":"object",` +
		`"score":1}],"generated":{"model":"m","sentences":[{"text":"It hums.","citations":[0],"supported":true,` +
		`"support":1}],"removedCitations":[],"truncated":false}}`
	body := askEngine(t, e, eventstream.ContentType, always(nil))
	require.Equal(t, ": an answer\n\nevent: token\ndata: {\"text\":\"It \"}\n\nevent: token\n"+
		"data: {\"text\":\"hums\\n[1].\"}\n\nevent: answer\ndata: {\"success\":true,"+data+`,"meta":{"total":0,"limit":10,`+
		`"offset":0,"hasMore":false,"nextCursor":null},"requestId":"req_1"}`+"\n\n", body)
	require.Contains(t, askEngine(t, e, "*/*", always(nil)), data)
}

func TestAnErrorInTheMiddleOfAStreamIsAnEvent(t *testing.T) {
	t.Parallel()
	e := &writingEngine{generate: func(_ context.Context, receive func(string) error) (retrieval.Generated, error) {
		require.NoError(t, receive("It "))
		return retrieval.Generated{}, errors.New("a defect with SECRET details")
	}}
	require.Equal(t, ": an answer\n\nevent: token\ndata: {\"text\":\"It \"}\n\nevent: error\ndata: {\"success\":false,"+
		"\"error\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"Internal server error\"},\"requestId\":\"req_1\"}\n\n",
		askEngine(t, e, eventstream.ContentType, always(nil)))
	require.NotContains(t, askEngine(t, e, "*/*", always(nil)), "SECRET")
}

func TestAnOutageInTheMiddleOfAStreamIsAQuotedAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault.Kind{fault.Unavailable, fault.Timeout, fault.BadGateway, fault.Invalid} {
		e := &writingEngine{generate: func(_ context.Context, receive func(string) error) (retrieval.Generated, error) {
			require.NoError(t, receive("It "))
			return retrieval.Generated{}, fault.New(kind, "the model is broken")
		}}
		for _, accept := range []string{eventstream.ContentType, "application/json"} {
			body := askEngine(t, e, accept, always(nil))
			require.Contains(t, body, `"answer":"It hums. [1]"`)
			require.Contains(t, body, `"degraded":["generation"]`)
			require.NotContains(t, body, "generated")
			require.NotContains(t, body, "broken")
		}
	}
}

func TestAStreamWhoseKeyIsRevokedHasNoAnswer(t *testing.T) {
	t.Parallel()
	e := &writingEngine{generate: func(ctx context.Context, receive func(string) error) (retrieval.Generated, error) {
		_ = receive("It ") // the stream may have ended
		<-ctx.Done()
		return retrieval.Generated{}, context.Cause(ctx)
	}}
	for _, err := range []error{
		fault.New(fault.Unauthenticated, "Unauthorized"), fault.New(fault.Unavailable, "keys cannot be checked"),
	} {
		body := askEngine(t, e, eventstream.ContentType, always(err))
		require.Contains(t, body, "event: error\n")
		require.NotContains(t, body, "It hums.")
	}
	stopping := make(chan struct{})
	close(stopping)
	session := always(nil)
	session.Draining = stopping
	for _, accept := range []string{eventstream.ContentType, "application/json"} {
		require.Contains(t, askEngine(t, e, accept, session), `"answer":"It hums. [1]"`, "the server stops")
	}
}
