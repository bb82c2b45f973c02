// Package chatmodel is a server with OpenAI's chat API for tests. It writes what a test defines.
package chatmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Key is the API key that the server requires, and Model is its model.
const (
	Key   = "sk-hunter2"
	Model = "test-model"
)

// Message is a message of a request.
type Message struct{ Role, Content string }

// Request is a request for a text.
type Request struct {
	Model               string    `json:"model"`
	Messages            []Message `json:"messages"`
	Stream              bool      `json:"stream"`
	Temperature         *float64  `json:"temperature"`
	MaxTokens           int       `json:"max_tokens"`
	MaxCompletionTokens int       `json:"max_completion_tokens"`
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

// Start starts a server that writes an empty text, until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/v1"
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var q Request
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Key:
		Refuse(w, http.StatusUnauthorized, "invalid_api_key")
		return
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
		return
	case err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions",
		json.Unmarshal(body, &q) != nil:
		Refuse(w, http.StatusNotFound, "not_found")
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	handler := s.handler
	s.mu.Unlock()
	if handler == nil {
		handler = func(w http.ResponseWriter, _ *http.Request, _ *Request) { Write(w, "stop") }
	}
	handler(w, r, &q)
}

// Handle sets what answers the following requests.
func (s *Server) Handle(handler Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Reply answers the following requests with a text, in parts.
func (s *Server) Reply(parts ...string) {
	s.Handle(func(w http.ResponseWriter, _ *http.Request, _ *Request) { Write(w, "stop", parts...) })
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Last returns the last request.
func (s *Server) Last(t testing.TB) Request {
	t.Helper()
	all := s.Requests()
	if len(all) == 0 {
		t.Fatal("there was no request to the chat model")
	}
	return all[len(all)-1]
}

// Write writes a stream with a text in parts, and ends it for a reason.
func Write(w http.ResponseWriter, reason string, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	Event(w, `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
	for _, part := range parts {
		Part(w, part)
	}
	Event(w, `{"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`)
	Event(w, "[DONE]")
}

// Part writes an event with a part of a text.
func Part(w http.ResponseWriter, part string) {
	content, _ := json.Marshal(part)
	Event(w, `{"choices":[{"index":0,"delta":{"content":`+string(content)+`},"finish_reason":null}]}`)
}

// Event writes an event of a stream.
func Event(w http.ResponseWriter, data string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush()
}

// WriteWhole writes a text that is not streamed.
func WriteWhole(w http.ResponseWriter, parts ...string) {
	content, _ := json.Marshal(strings.Join(parts, ""))
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(
		w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, content,
	)
}

// Refuse writes an error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":"a message with SECRET details","type":"some_error","code":%q}}`, code)
}
