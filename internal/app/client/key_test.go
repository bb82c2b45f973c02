package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// answers is a server that accepts one key and records the bodies of requests.
type answers struct {
	key    string
	bodies []string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	a.bodies = append(a.bodies, r.Header.Get("Authorization")+" "+string(body))
	status := http.StatusNoContent
	if r.Header.Get("Authorization") != "Bearer "+a.key {
		status = http.StatusUnauthorized
	}
	return &http.Response{StatusCode: status, Body: http.NoBody}, err
}

func TestARefusedKeyIsReplacedOnceForAllAndTheCallRepeated(t *testing.T) {
	created := 0
	server := &answers{key: "kk"}
	c, err := New(Options{
		BaseURL: "http://x", HTTP: &http.Client{Transport: server},
		NewKey: func(context.Context) (string, error) {
			created++
			if created == 3 {
				return "", errors.New("away")
			}
			return strings.Repeat("k", created), nil
		},
	})
	require.NoError(t, err)
	send := func() error { // without the retries, which would wait
		_, err := once[any](t.Context(), c, call{method: http.MethodPost, path: "/", body: []byte("body")})
		return err
	}
	_, err = c.key.renew(t.Context(), "")
	require.NoError(t, err)
	require.NoError(t, send())
	require.Equal(t, []string{"Bearer k body", "Bearer kk body"}, server.bodies)
	key, err := c.key.renew(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "kk", key, "somebody else renewed it already")
	require.NoError(t, send())
	require.Equal(t, 2, created)

	server.key = "another"
	require.ErrorContains(t, send(), "A new key cannot be created: away")
	err = send()
	require.ErrorContains(t, err, "refuses a new key", "keys are not created without end")
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "it is tried again later")
	require.Equal(t, 4, created)
}
