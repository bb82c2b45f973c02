package contract_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/retrieval/rerank"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/rerankmodel"
)

// newReranker returns a client of a reranker of the test.
func newReranker(t *testing.T, model *rerankmodel.Server, timeout time.Duration) *rerank.Client {
	t.Helper()
	c, err := rerank.New(rerank.Options{
		URL: model.URL, Key: rerankmodel.Key, Model: rerankmodel.Model, AllowPrivateAddresses: true, Timeout: timeout,
		Concurrency: 8,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// replacedReranker is a client that a test replaces between requests.
type replacedReranker struct{ *rerank.Client }

// rerankMeta is the meta of a reranked search.
type rerankMeta struct {
	Total    int
	Degraded []string
	Rerank   *struct {
		Model        string
		Candidates   int
		Milliseconds float64
	}
}

// reranked sends a search that must succeed, and returns its results.
func (s *searcher) reranked(t *testing.T, path, body string) (hits []rerankedHit, meta rerankMeta) {
	t.Helper()
	a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: body})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	var envelope struct {
		Data json.RawMessage
		Meta rerankMeta
	}
	require.NoError(t, json.Unmarshal(a.Body, &envelope))
	_ = json.Unmarshal(envelope.Data, &hits) // answers have another form
	return hits, envelope.Meta
}

type rerankedHit struct {
	Node        struct{ Name string }
	Score       float64
	RerankScore *float64
}

func rerankedNames(hits []rerankedHit) (list []string) {
	for _, hit := range hits {
		list = append(list, hit.Node.Name)
	}
	return list
}

const waterQuery = `{"query":"cooling water of a pump"`

func TestSearchesAreRerankedOnRequest(t *testing.T) {
	t.Parallel()
	model, current := rerankmodel.Start(t), &replacedReranker{}
	current.Client = newReranker(t, model, time.Minute)
	s := startSearchWith(t, &contract.Search{Reranker: current})
	s.createPlant(t)
	t.Run("order", func(t *testing.T) { s.testRerankedOrder(t, model) })
	t.Run("answers", func(t *testing.T) { s.testRerankedAnswers(t, model) })
	t.Run("saved queries", func(t *testing.T) { s.testRerankedQueries(t, model) })
	t.Run("tenants", func(t *testing.T) { s.testRerankedTenants(t, model) })
	t.Run("failures", func(t *testing.T) { s.testFailingReranker(t, model, current) })
}

func (s *searcher) testRerankedOrder(t *testing.T, model *rerankmodel.Server) {
	model.Handle(func(w http.ResponseWriter, _ *http.Request, q *rerankmodel.Request) { // the last is the best
		scores := make([]float64, len(q.Documents))
		for i := range scores {
			scores[i] = float64(i) - 5
		}
		rerankmodel.Write(w, scores)
	})
	for _, path := range []string{searchPath, hybridPath} {
		plain, meta := s.reranked(t, path, waterQuery+`}`)
		require.Nil(t, meta.Rerank)
		require.Nil(t, plain[0].RerankScore)
		before := len(model.Requests())

		hits, meta := s.reranked(t, path, waterQuery+`,"rerank":{"candidates":2,"weight":1},"facets":["entityType"]}`)
		require.Equal(t, []string{plain[1].Node.Name, plain[0].Node.Name}, rerankedNames(hits)[:2])
		require.Equal(t, rerankedNames(plain)[2:], rerankedNames(hits)[2:], "the others follow in their order")
		require.Equal(t, plain[0].Score, hits[1].Score, "the score is that of the search")
		require.Greater(t, *hits[0].RerankScore, *hits[1].RerankScore)
		for _, hit := range hits[2:] {
			require.Nil(t, hit.RerankScore)
		}
		require.Equal(t, len(plain), meta.Total)
		require.Equal(t, rerankmodel.Model, meta.Rerank.Model)
		require.Equal(t, 2, meta.Rerank.Candidates)
		require.Positive(t, meta.Rerank.Milliseconds)
		require.Empty(t, meta.Degraded)
		last := model.Last(t)
		require.Equal(t, rerankmodel.Model, last.Model)
		require.Equal(t, "cooling water of a pump", last.Query)
		require.Equal(t, 2, last.TopN)
		for i, text := range last.Documents {
			name, rest, _ := strings.Cut(text, "\n")
			require.Equal(t, plain[i].Node.Name, name)
			require.NotEmpty(t, rest, "the text of the node")
		}

		second, meta := s.reranked(t, path, waterQuery+`,"rerank":{"candidates":2,"weight":1},"limit":1,"offset":1}`)
		require.Equal(t, hits[1].Node, second[0].Node, "pages have the same order")
		require.Equal(t, 2, meta.Rerank.Candidates)
		require.Len(t, model.Requests(), before+2)
		_, meta = s.reranked(t, path, waterQuery+`,"rerank":{"candidates":2,"weight":1},"limit":1,"offset":2}`)
		require.Nil(t, meta.Rerank)
		require.Len(t, model.Requests(), before+2, "the page has no reranked results")

		hits, meta = s.reranked(t, path, waterQuery+`,"rerank":{},"minScore":0.999999}`)
		require.Len(t, hits, meta.Total)
		for _, hit := range hits {
			require.GreaterOrEqual(t, hit.Score, 0.999999, "minScore applies to the score of the search")
		}
	}
	calls := len(model.Requests())
	hits, meta := s.reranked(t, searchPath, `{"query":"!?","rerank":{}}`)
	require.Empty(t, hits)
	require.Nil(t, meta.Rerank)
	require.Len(t, model.Requests(), calls, "nothing is sent if nothing is found")
}

// testRerankedAnswers checks that an answer reads the results that the reranker prefers.
func (s *searcher) testRerankedAnswers(t *testing.T, model *rerankmodel.Server) {
	for _, name := range []string{"Pump 7", "Pump 8"} {
		model.Score(func(_, text string) float64 { return float64(strings.Count(text, name)) })
		a := s.Do(t, contract.Request{
			Method: http.MethodPost, Path: answerPath,
			Body: `{"query":"which loop has cooling water?","limit":1,"rerank":{"weight":1}}`,
		})
		found := decode[generatedAnswer](t, a, http.StatusOK)
		require.Equal(t, name, found.Citations[0].Name)
		_, meta := s.reranked(t, answerPath, `{"query":"which loop has cooling water?","limit":1,"rerank":{"weight":1}}`)
		require.Equal(t, rerankmodel.Model, meta.Rerank.Model)
	}
}

func (s *searcher) testRerankedQueries(t *testing.T, model *rerankmodel.Server) {
	model.Score(func(_, text string) float64 { return float64(strings.Count(text, "Pump 8")) })
	request := waterQuery + `,"rerank":{"candidates":9,"weight":1}}`
	saved := save(t, s.Server, `{"name":"reranked","kind":"search","request":`+request+`}`)
	hits, meta := s.reranked(t, savedPath+"/"+saved.ID+"/run", `{}`)
	require.Equal(t, "Pump 8", hits[0].Node.Name)
	require.NotNil(t, meta.Rerank)
	a := trySave(t, s.Server, `{"name":"x","kind":"answer","request":{"query":"a","rerank":{"candidates":51}}}`)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status, "%s", a.Body)
	require.Equal(t, "request.rerank.candidates", a.Error.Details["field"])
}

// testRerankedTenants checks that the reranker reads only texts of the caller's workspace that pass the filter.
func (s *searcher) testRerankedTenants(t *testing.T, model *rerankmodel.Server) {
	other := s.NewWorkspace(t, apikey.Live)
	key := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	s.newDescribedNode(t, key, other.String(), "object", "CANARY pump", "Moves CANARY cooling water.", `{}`)
	foreign := contract.Request{Path: searchPath, Body: waterQuery + `,"rerank":{}}`, Key: key, Workspace: other.String()}
	s.searchUntil(t, foreign, contains("CANARY pump"))
	require.Contains(t, fmt.Sprint(model.Last(t)), "CANARY")
	require.NotContains(t, fmt.Sprint(model.Last(t)), "Pump 7")
	for _, path := range []string{searchPath, hybridPath, answerPath} {
		s.reranked(t, path, waterQuery+`,"rerank":{},"properties":{"site":"north"}}`)
		require.NotContains(t, fmt.Sprint(model.Last(t)), "CANARY")
		require.NotContains(t, fmt.Sprint(model.Last(t)), "Pump 8")
	}
	for _, q := range model.Requests() {
		for _, secret := range []string{other.String(), s.Workspace.String(), key, s.Admin} {
			require.NotContains(t, fmt.Sprint(q), secret)
		}
	}
}

// testFailingReranker checks that any failure leaves the results as they are without reranking.
func (s *searcher) testFailingReranker(t *testing.T, model *rerankmodel.Server, current *replacedReranker) {
	plain, _ := s.reranked(t, hybridPath, waterQuery+`}`)
	body := func(text string) rerankmodel.Handler {
		return func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) { rerankmodel.WriteBody(w, text) }
	}
	status := func(code int) rerankmodel.Handler {
		return func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) { rerankmodel.Refuse(w, code) }
	}
	for name, handler := range map[string]rerankmodel.Handler{
		"down": status(503), "busy": status(429), "wrong key": status(401), "refused": status(400), "moved": status(302),
		"malformed": body(`{"results":[`), "an HTML page": body(`<html>`), "nothing": body(``),
		"one index":       body(`{"results":[{"index":0,"relevance_score":1}]}`),
		"a foreign index": body(`{"results":[{"index":0,"relevance_score":1},{"index":7,"relevance_score":2}]}`),
		"twice":           body(`{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":2}]}`),
		"infinite":        body(`{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":1e999}]}`),
		"cut off": func(w http.ResponseWriter, _ *http.Request, _ *rerankmodel.Request) {
			rerankmodel.WriteBody(w, `{"results":[{"index":0,`)
			panic(http.ErrAbortHandler)
		},
		"endless": func(w http.ResponseWriter, r *http.Request, _ *rerankmodel.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, strings.Repeat("[", 1<<10))
			}
		},
		"silent": func(_ http.ResponseWriter, r *http.Request, _ *rerankmodel.Request) { <-r.Context().Done() },
	} {
		timeout := time.Minute
		if name == "silent" {
			timeout = 100 * time.Millisecond
		}
		current.Client = newReranker(t, model, timeout) // with a breaker that is closed
		model.Handle(handler)
		hits, meta := s.reranked(t, hybridPath, waterQuery+`,"rerank":{"candidates":2,"weight":1}}`)
		require.Equal(t, plain, hits, name)
		require.Equal(t, []string{"rerank"}, meta.Degraded, name)
		require.Nil(t, meta.Rerank, name)
	}
}

func TestWhatCannotBeRerankedIsRefused(t *testing.T) {
	t.Parallel()
	model := rerankmodel.Start(t)
	s := contract.Start(t, (&contract.Search{WithoutIndexes: true, Reranker: newReranker(t, model, time.Minute)}).Group)
	plain := contract.Start(t, (&contract.Search{WithoutIndexes: true}).Group)
	for _, path := range []string{searchPath, hybridPath, answerPath} {
		for _, r := range rerankRefusals() {
			a := s.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: r.body})
			require.Equal(t, r.status, a.Status, "%s %.100s: %s", path, r.body, a.Body)
			if r.field != "" {
				require.Equal(t, r.field, a.Error.Details["field"], "%s %.100s", path, r.body)
			}
		}
		a := plain.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: `{"query":"a","rerank":{}}`})
		require.Equal(t, http.StatusUnprocessableEntity, a.Status, "%s", a.Body)
		require.Equal(t, "rerank", a.Error.Details["field"])
		require.Contains(t, string(a.Body), "the operator has configured none")
	}
	a := trySave(t, plain, `{"name":"x","kind":"hybrid-search","request":{"query":"a","rerank":{}}}`)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status, "%s", a.Body)
	require.Equal(t, "request.rerank", a.Error.Details["field"])
	require.Empty(t, model.Requests())
}
