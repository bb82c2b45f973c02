package embed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

const secret = "sk-hunter2"

// options returns the options for a test server with two-dimensional vectors.
func options(address string) embed.Options {
	return embed.Options{
		URL: address + "/v1", Key: secret, Model: embed.Model{Name: "m", Dimensions: 2}, AllowPrivateAddresses: true,
		Batch: 3, Timeout: 5 * time.Second, Retries: 2,
	}
}

func remote(t testing.TB, o embed.Options) *embed.Remote {
	t.Helper()
	r, err := embed.NewRemote(o)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// newServer starts a server with a handler and returns its URL.
func newServer(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// requestBody is the body of a request.
type requestBody struct {
	Model  string   `json:"model"`
	Input  []string `json:"input"`
	Format string   `json:"encoding_format"`
}

// answerLengths responds with the vector (length, 1) for each text, out of order.
func answerLengths(w http.ResponseWriter, r *http.Request) requestBody {
	var q requestBody
	_ = json.NewDecoder(r.Body).Decode(&q)
	var data []string
	for i := len(q.Input) - 1; i >= 0; i-- {
		data = append(data, fmt.Sprintf(`{"object": "embedding", "index": %d, "embedding": [%d, 1]}`, i, len(q.Input[i])))
	}
	_, _ = fmt.Fprintf(w, `{"object": "list", "data": [%s], "model": "m-2", "usage": {}}`, strings.Join(data, ","))
	return q
}

func TestTextsAreSentInBatchesAndVectorsReturnedInOrder(t *testing.T) {
	var mu sync.Mutex
	var batches []requestBody
	address := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" ||
			r.Header.Get("Authorization") != "Bearer "+secret {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		batches = append(batches, answerLengths(w, r))
	})
	texts := []string{"", "a", "bb", " \n", "cccc", "ddddd\xff", "eeeeeeee", "\t"}
	vectors, err := remote(t, options(address)).Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, vectors, len(texts))
	for i, want := range []float32{0, 1, 2, 0, 4, 8, 8, 0} {
		if want == 0 {
			require.Nil(t, vectors[i], "a blank text has no vector")
			continue
		}
		require.InDelta(t, want, vectors[i][0]/vectors[i][1], 1e-4)
		require.InDelta(t, 1, vectors[i][0]*vectors[i][0]+vectors[i][1]*vectors[i][1], 1e-5, "of length 1")
	}
	require.Equal(t, []requestBody{
		{"m", []string{"a", "bb", "cccc"}, "float"}, {"m", []string{"ddddd\uFFFD", "eeeeeeee"}, "float"},
	}, batches)

	vectors, err = remote(t, options(address)).Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, vectors)
	require.Len(t, batches, 2, "nothing to ask")
}

func TestFailuresThatPassAreTriedAgainWithinBounds(t *testing.T) {
	for name, status := range map[string]int{
		"busy": http.StatusTooManyRequests, "down": http.StatusServiceUnavailable, "broken": http.StatusInternalServerError,
		"gateway": http.StatusBadGateway, "overloaded": 529,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			address := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(status)
					return
				}
				answerLengths(w, r)
			})
			began := time.Now()
			vectors, err := remote(t, options(address)).Embed(t.Context(), []string{"a"})
			require.NoError(t, err)
			require.Len(t, vectors[0], 2)
			require.EqualValues(t, 2, calls.Load())
			require.GreaterOrEqual(t, time.Since(began), time.Second, "it waits for Retry-After")
		})
	}
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		address := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) == 3 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		_, err := remote(t, options(address)).Embed(t.Context(), []string{"a"})
		var failure *fault.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, fault.Unavailable, failure.Kind)
		require.Equal(t, 7*time.Second, failure.RetryAfter)
		require.EqualValues(t, 3, calls.Load())
	})
	t.Run("until the caller's time is up", func(t *testing.T) {
		t.Parallel()
		address := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "29")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := remote(t, options(address)).Embed(ctx, []string{"a"})
		require.True(t, fault.Is(err, fault.Unavailable), "the failure is more specific than the timeout: %v", err)
	})
	t.Run("a connection that breaks", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		address := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			answerLengths(w, r)
		})
		_, err := remote(t, options(address)).Embed(t.Context(), []string{"a"})
		require.NoError(t, err)
	})
	t.Run("told to wait too long", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		address := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := remote(t, options(address)).Embed(ctx, []string{"a"})
		require.NoError(t, ctx.Err(), "it does not wait for a long Retry-After")
		var failure *fault.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, fault.Unavailable, failure.Kind)
		require.Greater(t, failure.RetryAfter, 50*time.Minute)
		require.EqualValues(t, 1, calls.Load())
	})
}

func TestAnswersThatCannotBeUsedAreFaultsAndNotTriedAgain(t *testing.T) {
	one := func(vector string) string { return `{"data": [{"index": 0, "embedding": ` + vector + `}]}` }
	for name, c := range map[string]struct {
		status   int
		body     string
		kind     fault.Kind
		contains string
	}{
		"no JSON": {200, `<html>`, fault.BadGateway, "not what OpenAI's API answers"},
		"nothing": {200, ``, fault.BadGateway, "not what OpenAI's API answers"},
		"too few": {200, `{"data": []}`, fault.BadGateway, "0 vectors for 1 texts"},
		"twice": {
			200, `{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}]}`, fault.BadGateway,
			"out of range or twice",
		},
		"wrong index":      {200, `{"data": [{"index": 1, "embedding": [1, 2]}]}`, fault.BadGateway, "out of range"},
		"wrong dimensions": {200, one(`[1, 2, 3]`), fault.BadGateway, "3 dimensions, not 2"},
		"no vector":        {200, one(`null`), fault.BadGateway, "0 dimensions"},
		"base64":           {200, one(`"AAAA"`), fault.BadGateway, "not what"},
		"not a number":     {200, one(`[NaN, 1]`), fault.BadGateway, "not what"},
		"beyond float32":   {200, one(`[1e39, 1]`), fault.BadGateway, ""},
		"endless":          {200, strings.Repeat(" ", 1<<20), fault.BadGateway, "longer than its vectors can be"},
		"a redirect":       {302, ``, fault.BadGateway, "answered 302"},
		"refused text": {
			400, `{"error": {"code": "context_length_exceeded", "message": "TENANT"}}`, fault.Invalid, "context_length_exceeded",
		},
		"too large": {413, ``, fault.Invalid, "answered 413"},
		"refused key": {
			401, `{"error": {"code": "invalid_api_key", "message": "wrong: ` + secret + `"}}`, fault.BadGateway,
			"invalid_api_key",
		},
		"no such model": {
			404, `{"error": {"code": "` + strings.Repeat("x", 100) + `"}}`, fault.BadGateway, "answered 404",
		},
		"account used up":    {429, `{"error": {"code": "insufficient_quota"}}`, fault.BadGateway, "insufficient_quota"},
		"a code of no words": {403, `{"error": {"code": "forge\nlog", "type": 7}}`, fault.BadGateway, "answered 403"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			address := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			r := remote(t, options(address))
			texts := []string{"TENANT"}
			if name == "twice" {
				texts = append(texts, "TENANT")
			}
			_, err := r.Embed(t.Context(), texts)
			require.True(t, fault.Is(err, c.kind), "%v", err)
			require.ErrorContains(t, err, c.contains)
			require.EqualValues(t, 1, calls.Load())

			var logged strings.Builder
			slog.New(slog.NewTextHandler(&logged, nil)).Error("failed", "error", err, "embedder", r)
			for _, text := range []string{logged.String(), fmt.Sprintf("%v %+v", err, errors.Unwrap(err))} {
				require.NotContains(t, text, secret)
				require.NotContains(t, text, "TENANT")
				require.NotContains(t, text, "forge\n")
			}
		})
	}
}

func TestAZeroVectorIsNone(t *testing.T) {
	address := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data": [{"index": 0, "embedding": [0, 0]}]}`)
	})
	vectors, err := remote(t, options(address)).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	require.Nil(t, vectors[0])
}

func TestWaitingEndsWithTheCallersTimeOrTheRequests(t *testing.T) {
	hang := make(chan struct{})
	address := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // the server detects a closed connection only after reading the body
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := remote(t, options(address)).Embed(ctx, []string{"a"})
	require.True(t, fault.Is(err, fault.Timeout), "%v", err)

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = remote(t, options(address)).Embed(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)

	o := options(address)
	o.Timeout, o.Retries = 20*time.Millisecond, 0
	_, err = remote(t, o).Embed(t.Context(), []string{"a"})
	require.True(t, fault.Is(err, fault.Timeout), "%v", err)
}

func TestNothingIsSentToAPrivateAddressUnlessAllowed(t *testing.T) {
	var calls atomic.Int32
	address := newServer(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	u, err := url.Parse(address)
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		o := options("http://" + host + ":" + u.Port())
		o.AllowPrivateAddresses = false
		r := remote(t, o)
		_, err := r.Embed(t.Context(), []string{"a"})
		require.True(t, fault.Is(err, fault.BadGateway), "%v", err)
		require.ErrorContains(t, err, "--embedder-allow-private-addresses")
		require.Error(t, r.Ping(t.Context()))
	}
	require.Zero(t, calls.Load())
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	var calls atomic.Int32
	proxy := newServer(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("HTTPS_PROXY", proxy)
	o := options("http://embedder.invalid")
	o.Retries = 0
	_, err := remote(t, o).Embed(t.Context(), []string{"a"})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Zero(t, calls.Load())
}

func TestAURLWithASecretIsRefusedWithoutShowingIt(t *testing.T) {
	for _, bad := range []string{
		"https://u:hunter2@e/v1", "https://e/v1?key=hunter2", "e/v1", "ftp://e", "https://", "%zz",
	} {
		_, err := embed.NewRemote(embed.Options{URL: bad})
		require.True(t, fault.Is(err, fault.Invalid))
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestPingAcceptsEveryResponseOfAnAvailableAPI(t *testing.T) {
	for status, alive := range map[int]bool{200: true, 404: true, 405: true, 401: false, 500: false, 503: false} {
		address := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				status = http.StatusTeapot
			}
			w.WriteHeader(status)
		})
		require.Equal(t, alive, remote(t, options(address)).Ping(t.Context()) == nil, "status %d", status)
	}
}
