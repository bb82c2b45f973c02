package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

func TestAKeyThatCannotBeReplacedMakesTheServerUnavailable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-2" {
			answerError(w, 401, "AUTHENTICATION_ERROR")
			return
		}
		answerOK(w, 200, `[]`)
	}))
	t.Cleanup(server.Close)
	created := 0
	var waits []string
	c, err := New(Options{
		BaseURL: server.URL, NewKey: func(context.Context) (string, error) {
			if created++; created == 3 {
				return "", errors.New("away")
			}
			return fmt.Sprintf("key-%d", created), nil
		},
		Retry: Retry{
			First: time.Millisecond, Max: time.Millisecond, Total: 100 * time.Millisecond,
			OnWait: func(err error, _ time.Duration) {
				require.Equal(t, fault.Unavailable, fault.KindOf(err))
				waits = append(waits, err.Error())
			},
		},
	})
	require.NoError(t, err)
	_, err = c.Query(t.Context(), Query{})
	require.NoError(t, err, "the refused key is replaced")
	require.NoError(t, c.SetKey("revoked"))
	_, err = c.Query(t.Context(), Query{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.ErrorContains(t, err, "The server refuses a new key: no: GET /api/live-data/query answered 401")
	require.Equal(t, "A new key cannot be created: away", waits[0])
}

func TestFailuresOfTheConnectionAreUnavailable(t *testing.T) {
	once := Retry{First: time.Millisecond, Total: time.Millisecond}
	c := newTestClient(t, once, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == queryPath {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			return
		}
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	})
	_, err := c.Query(t.Context(), Query{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.ErrorContains(t, err, "The server's answer broke off: unexpected EOF")
	_, err = c.Node(t.Context(), pump)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.ErrorContains(t, err, "The server cannot be reached: Get ")
}
