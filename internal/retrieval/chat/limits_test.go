package chat_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/chat"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
	"github.com/livegraph/livegraph/test/chatmodel"
)

func TestFailuresAreRetriedOnlyBeforeTheFirstPart(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	var calls atomic.Int32
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
		if calls.Add(1) == 1 {
			chatmodel.Refuse(w, http.StatusServiceUnavailable, "x")
			return
		}
		chatmodel.Write(w, "stop", "It runs.")
	})
	done, _, err := complete(t, client(t, options(s)))
	require.NoError(t, err)
	require.Equal(t, "It runs.", done.Text)

	calls.Store(0)
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
		calls.Add(1)
		chatmodel.Part(w, "It ")
		panic(http.ErrAbortHandler)
	})
	_, parts, err := complete(t, client(t, options(s)))
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Equal(t, []string{"It "}, parts)
	require.EqualValues(t, 1, calls.Load())

	calls.Store(0)
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "20")
		chatmodel.Refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded")
	})
	began := time.Now()
	_, _, err = complete(t, client(t, options(s)))
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Less(t, time.Since(began), 15*time.Second, "a request does not wait for a long Retry-After")
	require.EqualValues(t, 1, calls.Load())
}

// hang answers with a part and then nothing until the client disconnects, and reports that on the channel.
func hang(gone chan<- struct{}) chatmodel.Handler {
	return func(w http.ResponseWriter, r *http.Request, _ *chatmodel.Request) {
		chatmodel.Part(w, "It ")
		<-r.Context().Done()
		gone <- struct{}{}
	}
}

func requireGone(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "the request is not cancelled")
	}
}

func TestTheRequestIsCancelledWithItsCaller(t *testing.T) {
	t.Parallel()
	s, gone := chatmodel.Start(t), make(chan struct{}, 1)
	s.Handle(hang(gone))
	c := client(t, options(s))
	reason := errors.New("the caller disconnected")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := c.Complete(ctx, uuid.Nil, question, func(string) error {
		cancel(reason)
		return nil
	})
	require.ErrorIs(t, err, reason)
	requireGone(t, gone)

	_, err = c.Complete(t.Context(), uuid.Nil, question, func(string) error { return reason })
	require.ErrorIs(t, err, reason)
	requireGone(t, gone)
}

func TestTimeAndSilenceAreBounded(t *testing.T) {
	t.Parallel()
	s, gone := chatmodel.Start(t), make(chan struct{}, 1)
	s.Handle(hang(gone))
	o := options(s)
	o.IdleTimeout = 50 * time.Millisecond
	_, _, err := complete(t, client(t, o))
	require.True(t, fault.Is(err, fault.Timeout), "%v", err)
	requireGone(t, gone)

	s.Handle(func(w http.ResponseWriter, r *http.Request, _ *chatmodel.Request) { // never silent for long
		for r.Context().Err() == nil {
			chatmodel.Part(w, "x")
			time.Sleep(40 * time.Millisecond)
		}
		gone <- struct{}{}
	})
	o.IdleTimeout, o.Timeout = 5*time.Second, 300*time.Millisecond
	_, _, err = complete(t, client(t, o))
	require.True(t, fault.Is(err, fault.Timeout), "%v", err)
	requireGone(t, gone)

	s.Handle(func(_ http.ResponseWriter, r *http.Request, _ *chatmodel.Request) { // before the header
		<-r.Context().Done()
		gone <- struct{}{}
	})
	o.Timeout = 100 * time.Millisecond
	_, _, err = complete(t, client(t, o))
	require.True(t, fault.Is(err, fault.Timeout), "%v", err)
	requireGone(t, gone)
}

func TestALongTextIsNotSilence(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
		for range 6 {
			chatmodel.Part(w, "x")
			time.Sleep(400 * time.Millisecond)
		}
		chatmodel.Write(w, "stop")
	})
	o := options(s)
	o.IdleTimeout, o.Timeout = 2*time.Second, time.Minute
	done, _, err := complete(t, client(t, o))
	require.NoError(t, err)
	require.Equal(t, "xxxxxx", done.Text)
}

func TestAModelThatDoesNotAnswerIsNotAskedEachTime(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
		chatmodel.Refuse(w, http.StatusInternalServerError, "x")
	})
	o := options(s)
	o.Retries = 0
	c := client(t, o)
	for range 20 {
		_, _, err := complete(t, c)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	}
	require.Less(t, len(s.Requests()), 10)
	s.Reply("It runs.")
	require.Eventually(t, func() bool {
		_, _, err := complete(t, c)
		return err == nil
	}, time.Minute, 100*time.Millisecond, "it is asked again")

	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) {
		chatmodel.Refuse(w, http.StatusBadRequest, "context_length_exceeded")
	})
	for range 10 {
		_, _, err := complete(t, c)
		require.True(t, fault.Is(err, fault.Invalid), "a refused text is no outage: %v", err)
	}
}

func TestOneWorkspaceCannotUseAllSlots(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	release := make(chan struct{})
	s.Handle(func(w http.ResponseWriter, r *http.Request, q *chatmodel.Request) {
		if q.Messages[0].Content == "wait" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		chatmodel.Write(w, "stop", "It runs.")
	})
	o := options(s)
	o.Timeout, o.IdleTimeout = time.Minute, time.Minute
	c := client(t, o)
	one, other := uuid.UUID{1}, uuid.UUID{2}
	ask := func(workspace uuid.UUID, text string) error {
		_, err := c.Complete(
			t.Context(), workspace, []chat.Message{{Role: chat.RoleUser, Content: text}}, func(string) error { return nil },
		)
		return err
	}
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- ask(one, "wait") }()
	}
	require.Eventually(t, func() bool { return len(s.Requests()) == 2 }, time.Minute, time.Millisecond)
	err := ask(one, "now")
	require.ErrorIs(t, err, openai.ErrBusy)
	require.True(t, fault.Is(err, fault.Unavailable))
	require.NoError(t, ask(other, "now"))
	close(release)
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.NoError(t, ask(one, "now"))
}

func TestNothingIsSentToAPrivateAddressUnlessAllowed(t *testing.T) {
	t.Parallel()
	s := chatmodel.Start(t)
	o := options(s)
	o.AllowPrivateAddresses = false
	_, _, err := complete(t, client(t, o))
	require.True(t, fault.Is(err, fault.BadGateway), "%v", err)
	require.ErrorContains(t, err, "--chat-allow-private-addresses")
	require.Empty(t, s.Requests())
	require.NoError(t, client(t, options(s)).Ping(t.Context()))
}
