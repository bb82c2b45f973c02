package eventstream_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/api/request"
)

var errRevoked = errors.New("revoked")

// guarded serves a guarded stream and returns its URL and a channel with its result.
func guarded(
	t *testing.T, session request.Session, work func(ctx context.Context, out *eventstream.Writer) error,
) (url string, ended <-chan error) {
	t.Helper()
	end := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := eventstream.Open(w, time.Minute)
		if err != nil {
			end <- err
			return
		}
		ctx, stop := out.Guard(r.Context(), session)
		defer stop()
		end <- work(ctx, out)
	}))
	t.Cleanup(server.Close)
	return server.URL, end
}

func TestAStreamWhoseKeyIsGoneEndsOrderly(t *testing.T) {
	session := request.Session{Recheck: func(context.Context) error { return errRevoked }}
	url, ended := guarded(t, session, func(ctx context.Context, out *eventstream.Writer) error {
		out.Comment("hello")
		if err := out.Flush(); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	response, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, ": hello\n\n", string(body))
	require.ErrorIs(t, <-ended, errRevoked)
}

func TestAStreamThatHangsIsCutWhenItMustEnd(t *testing.T) {
	draining := make(chan struct{})
	session := request.Session{Recheck: func(context.Context) error { return nil }, Draining: draining}
	began := make(chan struct{})
	url, ended := guarded(t, session, func(ctx context.Context, out *eventstream.Writer) error {
		close(began)
		for { // the client does not read, and waitTimeout is a minute
			out.EventWithID("x", "", make([]byte, 1<<20))
			if err := out.Flush(); err != nil {
				return errors.Join(err, context.Cause(ctx))
			}
		}
	})
	response, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	<-began
	close(draining)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, eventstream.ErrDraining)
	case <-time.After(30 * time.Second):
		require.FailNow(t, "the stream hangs")
	}
}
