package contract_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/chatmodel"
	"github.com/livegraph/livegraph/test/contract"
)

// openAnswer sends a question for a stream, and returns it when the first part was received.
func (s *searcher) openAnswer(t *testing.T, key string) (events *sseReader, disconnect context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+answerPath, strings.NewReader(bearingQuestion))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("x-workspace-id", s.Workspace.String())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	response, err := (&http.Client{}).Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	events = newSSEReader(t, response.Body)
	name, data, ok := events.event()
	require.True(t, ok)
	require.Equal(t, "token", name)
	require.JSONEq(t, `{"text":"It "}`, data)
	return events, cancel
}

// startHanging starts a server whose model answers with a part and then hangs. gone receives a value when the server
// has disconnected from the model.
func startHanging(t *testing.T) (s *searcher, model *chatmodel.Server, gone chan struct{}) {
	t.Helper()
	s, model = startGenerating(t)
	s.createPlant(t)
	gone = make(chan struct{}, 2)
	model.Handle(func(w http.ResponseWriter, r *http.Request, _ *chatmodel.Request) {
		chatmodel.Part(w, "It ")
		<-r.Context().Done()
		gone <- struct{}{}
	})
	return s, model, gone
}

func awaitGone(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(time.Minute):
		require.FailNow(t, "the request to the model goes on")
	}
}

func TestTheModelsRequestEndsWithTheClients(t *testing.T) {
	t.Parallel()
	s, model, gone := startHanging(t)
	_, disconnect := s.openAnswer(t, s.Admin)
	disconnect()
	awaitGone(t, gone)

	ctx, cancel := context.WithCancel(t.Context()) // without a stream
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+answerPath, strings.NewReader(bearingQuestion))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Admin)
	r.Header.Set("x-workspace-id", s.Workspace.String())
	r.Header.Set("Content-Type", "application/json")
	calls := len(model.Requests())
	go func() {
		for len(model.Requests()) == calls && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	response, err := (&http.Client{}).Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	awaitGone(t, gone)
}

func TestAStreamedAnswerEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s, _, gone := startHanging(t)
	text, key := s.AddKey(
		t, access.NewKey{Mode: "live", Workspaces: []uuid.UUID{s.Workspace}}, request.ReadNodes, request.ReadEdges,
	)
	events, _ := s.openAnswer(t, text)
	_, err := s.DB.RevokeKey(t.Context(), key.ID)
	require.NoError(t, err)
	awaitGone(t, gone)
	name, data, ok := events.event()
	require.True(t, ok)
	require.Equal(t, "error", name)
	require.Contains(t, data, `"code":"AUTHENTICATION_ERROR"`)
	require.Contains(t, data, `"requestId":"req_`)
	_, _, more := events.event()
	require.False(t, more)
}

func TestAnAnswerIsQuotedWhenTheServerStops(t *testing.T) {
	t.Parallel()
	s, model, _ := startHanging(t)
	events, _ := s.openAnswer(t, s.Admin)
	calls := len(model.Requests())
	plain := make(chan *contract.Answer, 1)
	go func() {
		plain <- s.DoUnchecked(t, contract.Request{Method: http.MethodPost, Path: answerPath, Body: bearingQuestion})
	}()
	require.Eventually(t, func() bool { return len(model.Requests()) > calls }, time.Minute, time.Millisecond)
	s.Stop()
	name, data, ok := events.event()
	require.True(t, ok)
	found, degraded := s.streamedAnswer(t, name, data)
	require.Equal(t, []string{"generation"}, degraded)
	require.True(t, strings.HasPrefix(*found.Answer, bearingQuote), *found.Answer)
	a := <-plain
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.Equal(t, []string{"generation"}, a.Meta.Degraded)
}
