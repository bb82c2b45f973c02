package embed_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// queries returns a Queries for a test server, with the options of searches.
func queries(t testing.TB, address string, timeout time.Duration) *embed.Queries {
	t.Helper()
	o := options(address)
	o.Retries = 0
	q := embed.NewQueries(embed.QueryOptions{Embedder: remote(t, o), Timeout: timeout})
	t.Cleanup(q.Close)
	return q
}

func TestQueriesDoNotWaitForAnEmbedderThatDoesNotAnswer(t *testing.T) {
	var calls atomic.Int32
	var dead atomic.Bool
	dead.Store(true)
	done := make(chan struct{})
	address := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if dead.Load() {
			select {
			case <-done:
			case <-r.Context().Done():
			}
			return
		}
		answerLengths(w, r)
	})
	defer close(done)
	q := queries(t, address, 50*time.Millisecond)
	began := time.Now()
	for range 200 {
		_, err := q.EmbedQuery(t.Context(), q.Model(), "a")
		require.Contains(t, []fault.Kind{fault.Timeout, fault.Unavailable}, fault.KindOf(err))
	}
	took := time.Since(began)
	require.Less(t, took, 20*time.Second, "200 that wait for a second each would take longer")
	tried := 4 + took.Milliseconds()/500
	require.LessOrEqual(t, int64(calls.Load()), tried, "it is tried three times, and twice a second after that")

	dead.Store(false)
	require.Eventually(t, func() bool {
		v, err := q.EmbedQuery(t.Context(), q.Model(), "a")
		return err == nil && len(v) == 2
	}, time.Minute, 20*time.Millisecond, "it is noticed when it answers again")
	calls.Store(0)
	for range 5 {
		_, err := q.EmbedQuery(t.Context(), q.Model(), "a")
		require.NoError(t, err)
	}
	require.EqualValues(t, 5, calls.Load())
}

func TestAQueryIsAskedForOnce(t *testing.T) {
	var calls atomic.Int32
	address := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err := queries(t, address, time.Minute).EmbedQuery(t.Context(), embed.Model{Name: "m", Dimensions: 2}, "a")
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.EqualValues(t, 1, calls.Load())
}

func TestCancelledQueriesAndRefusedTextsDoNotOpenTheBreaker(t *testing.T) {
	var refused atomic.Int32
	address := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the server detects a closed connection only after reading the body
		if !strings.Contains(string(body), "hang") {
			refused.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		<-r.Context().Done()
	})
	q := queries(t, address, time.Minute)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err := q.EmbedQuery(ctx, q.Model(), "hang")
		require.Error(t, err)
		_, err = q.EmbedQuery(t.Context(), q.Model(), "a")
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
	require.EqualValues(t, 5, refused.Load(), "each was asked")
}

func TestQueriesForAnIndexOfAnotherModelAreEmbeddedByThat(t *testing.T) {
	address := newServer(t, func(w http.ResponseWriter, r *http.Request) { answerLengths(w, r) })
	static := embed.NewStatic()
	var created atomic.Int32
	q := embed.NewQueries(embed.QueryOptions{
		Embedder: remote(t, options(address)), Timeout: time.Minute,
		Other: func(m embed.Model) (embed.Embedder, bool) {
			created.Add(1)
			return static, m == static.Model()
		},
	})
	defer q.Close()
	want, err := static.Embed(t.Context(), []string{"pump"})
	require.NoError(t, err)
	for range 3 {
		v, err := q.EmbedQuery(t.Context(), static.Model(), "pump")
		require.NoError(t, err)
		require.Equal(t, want[0], v)
		v, err = q.EmbedQuery(t.Context(), q.Model(), "pump")
		require.NoError(t, err)
		require.Len(t, v, 2)
	}
	require.EqualValues(t, 1, created.Load())
	_, err = q.EmbedQuery(t.Context(), embed.Model{Name: "m", Dimensions: 3}, "pump")
	require.ErrorIs(t, err, embed.ErrOtherModel, "of other dimensions is another model")
}

func TestBatchesThatFailDoNotStopQueries(t *testing.T) {
	var batches atomic.Int32
	broken := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		batches.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	o := options(broken)
	o.Retries = 0
	static := embed.NewStatic()
	q := embed.NewQueries(embed.QueryOptions{Embedder: static, Texts: remote(t, o)})
	t.Cleanup(q.Close)
	for range 5 {
		_, err := q.EmbedTexts(t.Context(), []string{"a", "b"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
	}
	require.GreaterOrEqual(t, batches.Load(), int32(3))
	v, err := q.EmbedQuery(t.Context(), q.Model(), "pump")
	require.NoError(t, err)
	require.NotNil(t, v)

	q = embed.NewQueries(embed.QueryOptions{Embedder: static})
	t.Cleanup(q.Close)
	vectors, err := q.EmbedTexts(t.Context(), []string{"pump", "", "valve"})
	require.NoError(t, err)
	require.Len(t, vectors, 3)
	require.Equal(t, v, vectors[0])
	require.Nil(t, vectors[1])

	o.Timeout = time.Minute
	q = embed.NewQueries(embed.QueryOptions{Embedder: remote(t, o), Timeout: time.Minute})
	t.Cleanup(q.Close)
	for range 5 {
		_, err = q.EmbedTexts(t.Context(), []string{"a", "b"})
		require.Error(t, err)
	}
	before := batches.Load()
	_, err = q.EmbedQuery(t.Context(), q.Model(), "a")
	require.Error(t, err)
	require.Equal(t, before+1, batches.Load(), "the query is sent although batches failed")
}
