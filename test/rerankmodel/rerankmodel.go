// Package rerankmodel is a server with the rerank API for tests. It scores as a test defines.
package rerankmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Key is the API key that the server requires, and Model is its model.
const (
	Key   = "rk-hunter2"
	Model = "test-reranker"
)

// Request is a request for scores.
type Request struct {
	Model     string   `json:"model"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	TopN      int      `json:"top_n"`
}

// Handler answers a request.
type Handler func(w http.ResponseWriter, r *http.Request, q *Request)

// Server is a running server.
type Server struct {
	URL string // base, with /v1

	mu       sync.Mutex
	handler  Handler
	requests []Request
}

// Start starts a server that scores texts by their length, until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/v1"
	s.Score(func(_, text string) float64 { return float64(len(text)) })
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var q Request
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Key:
		Refuse(w, http.StatusUnauthorized)
		return
	case err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/rerank" || decoder.Decode(&q) != nil:
		Refuse(w, http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	handler := s.handler
	s.mu.Unlock()
	handler(w, r, &q)
}

// Handle sets what answers the following requests.
func (s *Server) Handle(handler Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Score answers the following requests with the scores of a function, the highest first, as servers do.
func (s *Server) Score(score func(query, text string) float64) {
	s.Handle(func(w http.ResponseWriter, _ *http.Request, q *Request) {
		scores := make([]float64, len(q.Documents))
		for i, text := range q.Documents {
			scores[i] = score(q.Query, text)
		}
		Write(w, scores)
	})
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last returns the last request.
func (s *Server) Last(t testing.TB) Request {
	t.Helper()
	all := s.Requests()
	if len(all) == 0 {
		t.Fatal("there was no request to the reranker")
	}
	return all[len(all)-1]
}

// Write writes the scores of texts, the highest first.
func Write(w http.ResponseWriter, scores []float64) {
	type result struct {
		Index int     `json:"index"`
		Score float64 `json:"relevance_score"`
	}
	results := make([]result, len(scores))
	for i, score := range scores {
		results[i] = result{i, score}
	}
	slices.SortStableFunc(results, func(a, b result) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	list, _ := json.Marshal(results)
	WriteBody(w, fmt.Sprintf(`{"id":"1","model":%q,"results":%s,"usage":{"total_tokens":1}}`, Model, list))
}

// WriteBody writes a response.
func WriteBody(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// Refuse writes an error.
func Refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":{"message":"a message with SECRET details","type":"some_error"}}`)
}
