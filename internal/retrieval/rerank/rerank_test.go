package rerank_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
	"github.com/livegraph/livegraph/internal/retrieval/rerank"
	"github.com/livegraph/livegraph/test/rerankmodel"
)

func options(s *rerankmodel.Server) rerank.Options {
	return rerank.Options{
		URL: s.URL, Key: rerankmodel.Key, Model: rerankmodel.Model, AllowPrivateAddresses: true, Timeout: time.Minute,
		Concurrency: 4,
	}
}

func client(t *testing.T, o rerank.Options) *rerank.Client {
	t.Helper()
	c, err := rerank.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

var texts = []string{"a", "ccc", "bb\xff"}

func TestScoresAreInTheOrderOfTheTexts(t *testing.T) {
	t.Parallel()
	s := rerankmodel.Start(t)
	s.Score(func(query, text string) float64 { return -float64(len(query) * strings.Index("abc", text[:1])) })
	c := client(t, options(s))
	scores, err := c.Rerank(t.Context(), uuid.Nil, "qu", texts)
	require.NoError(t, err)
	require.Equal(t, []float64{0, -4, -2}, scores)
	require.Equal(t, rerankmodel.Request{
		Model: rerankmodel.Model, Query: "qu", Documents: []string{"a", "ccc", "bb\uFFFD"}, TopN: 3,
	}, s.Last(t))
	require.Equal(t, rerankmodel.Model, c.Model())
	require.NotContains(t, c.String(), rerankmodel.Key)

	scores, err = c.Rerank(t.Context(), uuid.Nil, "qu", nil)
	require.NoError(t, err)
	require.Empty(t, scores)
	require.Len(t, s.Requests(), 1, "nothing is sent without texts")
}

func TestAnAnswerThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	s := rerankmodel.Start(t)
	for name, body := range map[string]string{
		"not JSON":         `<html>SECRET</html>`,
		"an array":         `[{"index":0,"score":1},{"index":1,"score":1},{"index":2,"score":1}]`,
		"no results":       `{"data":[]}`,
		"too few":          `{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":1}]}`,
		"too many":         results(`{"index":0,"relevance_score":1}`, `{"index":1,"relevance_score":1}`, `{"index":2}`),
		"twice":            results(`{"index":1,"relevance_score":1}`, `{"index":1,"relevance_score":2}`),
		"out of range":     results(`{"index":1,"relevance_score":1}`, `{"index":3,"relevance_score":1}`),
		"negative":         results(`{"index":1,"relevance_score":1}`, `{"index":-1,"relevance_score":1}`),
		"no index":         results(`{"index":1,"relevance_score":1}`, `{"relevance_score":1}`),
		"no score":         results(`{"index":1,"relevance_score":1}`, `{"index":2}`),
		"a null score":     results(`{"index":1,"relevance_score":1}`, `{"index":2,"relevance_score":null}`),
		"infinite":         results(`{"index":1,"relevance_score":1}`, `{"index":2,"relevance_score":1e999}`),
		"a text as score":  results(`{"index":1,"relevance_score":1}`, `{"index":2,"relevance_score":"NaN"}`),
		"a broken index":   results(`{"index":1,"relevance_score":1}`, `{"index":1.5,"relevance_score":1}`),
		"a cut-off answer": `{"results":[{"index":0,`,
	} {
		s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) { rerankmodel.WriteBody(w, body) })
		_, err := client(t, options(s)).Rerank(t.Context(), uuid.Nil, "q", texts)
		require.True(t, fault.Is(err, fault.BadGateway), "%s: %v", name, err)
		require.NotContains(t, err.Error(), "SECRET", name)
	}
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) { // known fields are enough
		rerankmodel.WriteBody(w, results(`{"index":2,"relevance_score":-3.5,"document":{"text":"\ud800"}}`,
			`{"index":1,"relevance_score":1e-300,"index":1}`))
	})
	scores, err := client(t, options(s)).Rerank(t.Context(), uuid.Nil, "q", texts)
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 1e-300, -3.5}, scores)
}

// results returns a response with the score 0.5 for the first text, and other results.
func results(others ...string) string {
	return `{"results":[{"index":0,"relevance_score":0.5},` + strings.Join(others, ",") + `]}`
}

func TestTheSizeOfAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	s := rerankmodel.Start(t)
	ended := make(chan struct{}, 1)
	s.Handle(func(w http.ResponseWriter, r *http.Request, _ *rerankmodel.Request) {
		defer func() { ended <- struct{}{} }()
		_, _ = io.WriteString(w, `{"results":[`)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, strings.Repeat(" ", 1<<10))
		}
	})
	_, err := client(t, options(s)).Rerank(t.Context(), uuid.Nil, "q", texts)
	require.True(t, fault.Is(err, fault.BadGateway), "%v", err)
	require.ErrorIs(t, err, openai.ErrTooLong)
	<-ended
}

func TestErrorsOfTheServerHaveKinds(t *testing.T) {
	t.Parallel()
	s := rerankmodel.Start(t)
	for status, kind := range map[int]fault.Kind{
		http.StatusServiceUnavailable: fault.Unavailable, http.StatusTooManyRequests: fault.Unavailable,
		http.StatusUnauthorized: fault.BadGateway, http.StatusNotFound: fault.BadGateway,
		http.StatusBadRequest: fault.Invalid, http.StatusFound: fault.BadGateway,
	} {
		s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) {
			w.Header().Set("Location", s.URL+"/other")
			rerankmodel.Refuse(w, status)
		})
		c, before := client(t, options(s)), len(s.Requests())
		_, err := c.Rerank(t.Context(), uuid.Nil, "q", texts)
		require.True(t, fault.Is(err, kind), "%d: %v", status, err)
		require.NotContains(t, err.Error(), "SECRET")
		require.Len(t, s.Requests(), before+1, "a search does not wait for retries, and redirects are not followed")
	}
	o := options(s)
	o.Key = "another"
	_, err := client(t, o).Rerank(t.Context(), uuid.Nil, "q", texts)
	require.True(t, fault.Is(err, fault.BadGateway), "%v", err)
	require.NotContains(t, err.Error(), "another")
}

func TestAServerThatFailsIsNotAskedForAWhile(t *testing.T) {
	t.Parallel()
	s := rerankmodel.Start(t)
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) { rerankmodel.Refuse(w, 503) })
	c := client(t, options(s))
	for range 20 {
		_, err := c.Rerank(t.Context(), uuid.Nil, "q", texts)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	}
	require.Less(t, len(s.Requests()), 20)

	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) { rerankmodel.Refuse(w, 400) })
	c, before := client(t, options(s)), len(s.Requests())
	for range 10 {
		_, err := c.Rerank(t.Context(), uuid.Nil, "q", texts)
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	}
	require.Len(t, s.Requests(), before+10, "a server that refuses texts responds")
}

func TestTimeIsBoundedAndARequestIsCancelledWithItsCaller(t *testing.T) {
	t.Parallel()
	s, gone := rerankmodel.Start(t), make(chan struct{}, 1)
	begun := make(chan struct{}, 1)
	s.Handle(func(_ http.ResponseWriter, r *http.Request, _ *rerankmodel.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	o := options(s)
	o.Timeout = 50 * time.Millisecond
	_, err := client(t, o).Rerank(t.Context(), uuid.Nil, "q", texts)
	require.True(t, fault.Is(err, fault.Timeout), "%v", err)
	<-begun
	<-gone

	reason := errors.New("the caller disconnected")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-begun
		cancel(reason)
	}()
	_, err = client(t, options(s)).Rerank(ctx, uuid.Nil, "q", texts)
	require.ErrorIs(t, err, reason)
	<-gone
}

func TestOneWorkspaceHasHalfOfTheRequests(t *testing.T) {
	t.Parallel()
	s, release := rerankmodel.Start(t), make(chan struct{})
	s.Handle(func(w http.ResponseWriter, _ *http.Request, q *rerankmodel.Request) {
		if q.Query == "wait" {
			<-release
		}
		rerankmodel.Write(w, make([]float64, len(q.Documents)))
	})
	c := client(t, options(s))
	one, other := uuid.UUID{1}, uuid.UUID{2}
	ask := func(workspace uuid.UUID, query string) error {
		_, err := c.Rerank(t.Context(), workspace, query, texts)
		return err
	}
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- ask(one, "wait") }()
	}
	require.Eventually(t, func() bool { return len(s.Requests()) == 2 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, ask(one, "now"), openai.ErrBusy)
	require.NoError(t, ask(other, "now"))
	close(release)
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.NoError(t, ask(one, "now"))
}

func TestNothingIsSentToAPrivateAddressUnlessAllowed(t *testing.T) {
	t.Parallel()
	s := rerankmodel.Start(t)
	o := options(s)
	o.AllowPrivateAddresses = false
	_, err := client(t, o).Rerank(t.Context(), uuid.Nil, "q", texts)
	require.True(t, fault.Is(err, fault.BadGateway), "%v", err)
	require.ErrorContains(t, err, "--rerank-allow-private-addresses")
	require.Empty(t, s.Requests())
	for _, address := range []string{"", "ftp://e", "http://u:p@e", "https://e?key=1"} {
		_, err := rerank.New(rerank.Options{URL: address})
		require.True(t, fault.Is(err, fault.Invalid), address)
	}
}
