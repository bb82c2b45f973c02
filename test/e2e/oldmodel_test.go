package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestSearchesUseTheEmbeddedModelUntilTheNewIndexIsThere changes from the embedded embedder to the
// static one. Vector searches use the old index until the new one replaces it; then the process of the
// old model ends.
func TestSearchesUseTheEmbeddedModelUntilTheNewIndexIsThere(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Env = []string{"LIVEGRAPH_EMBEDDER="}
	s.Start()
	require.True(t, s.embedderRuns())
	for _, name := range []string{"The machine stopped responding", "Bread with olives", "Little storage space is left"} {
		s.Do("POST", "/api/commands/execute", map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
			"name": name, "entityType": "object",
		}},
			http.StatusCreated, nil)
	}
	require.Eventually(t, func() bool {
		return s.searchedModel() == embedded.EmbedderModel && len(s.searchByVector()) == 3
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, "The machine stopped responding", s.searchByVector()[0])
	require.Zero(t, s.Stop())
	require.False(t, s.embedderRuns())

	// Without the role that builds the new index, the old one stays in use.
	s.Env, s.Args = nil, []string{"--embedder", "static", "--roles", "api,points,commands,audit"}
	s.Start()
	require.Equal(t, "The machine stopped responding", s.firstSearchByVector()[0], "only this model finds paraphrases")
	for range 5 {
		require.Equal(t, "The machine stopped responding", s.searchByVector()[0], "only this model finds paraphrases")
	}
	require.Equal(t, embedded.EmbedderModel, s.searchedModel())
	require.True(t, s.embedderRuns())
	require.Zero(t, s.Stop())
	require.False(t, s.embedderRuns(), "it ends with the process")

	s.Args = []string{"--embedder", "static"}
	s.Start()
	require.NotEmpty(t, s.firstSearchByVector())
	for deadline := time.Now().Add(time.Minute); s.searchedModel() == embedded.EmbedderModel; {
		require.NotEmpty(t, s.searchByVector())
		require.True(t, time.Now().Before(deadline), "the new index was not made")
	}
	require.NotEmpty(t, s.searchByVector())
	require.Eventually(t, func() bool {
		return !s.embedderRuns()
	}, time.Minute, 100*time.Millisecond, "no index is of its model any more")
	require.NotEmpty(t, s.searchByVector())
}

// TestASettingSelectsTheMultilingualModel changes from the default model to another embedded one, and back.
func TestASettingSelectsTheMultilingualModel(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	const multilingual = "multilingual-e5-small"
	s := newServer(t)
	s.Env = []string{"LIVEGRAPH_EMBEDDER="}
	s.Start()
	const english, german, french = "The heat pump in the cellar supplies the hall with warm water",
		"Das Brot wird mit Oliven gebacken", "Le contrat prend fin en mars"
	for _, name := range []string{english, german, french} {
		s.Do("POST", "/api/commands/execute", map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
			"name": name, "entityType": "object",
		}},
			http.StatusCreated, nil)
	}
	require.Eventually(t, func() bool {
		return s.searchedModel() == embedded.EmbedderModel && len(s.searchByVector()) == 3
	}, time.Minute, 100*time.Millisecond)
	require.Zero(t, s.Stop())

	for _, model := range []string{multilingual, embedded.EmbedderModel} {
		s.Env = []string{"LIVEGRAPH_EMBEDDER=" + model, "LIVEGRAPH_EMBEDDER_QUERY_TIMEOUT=30s"}
		s.Start()
		require.NotEmpty(t, s.firstSearchByVector(), "the old index is used with its model")
		require.Eventually(t, func() bool { return s.searchedModel() == model }, time.Minute, 100*time.Millisecond)
		if model == multilingual {
			for question, want := range map[string]string{
				"Was versorgt die Halle mit warmem Wasser?": english, "baking bread with olives": german,
				"Wann endet der Vertrag?": french,
			} {
				answer := s.Do("POST", "/api/rag/search", map[string]any{"query": question}, http.StatusOK, nil)
				require.Equal(t, want, s.namesOfHits(answer)[0], question)
			}
			require.Eventually(t, func() bool { return !s.embedderRuns() }, time.Minute, 100*time.Millisecond)
		}
		require.True(t, s.engineRuns(map[string]string{
			multilingual: "embedder-" + multilingual, embedded.EmbedderModel: "embedder",
		}[model]))
		require.Zero(t, s.Stop())
	}
}

// searchedModel returns the model of the index in use, or "" if there is none.
func (s *server) searchedModel() string {
	s.t.Helper()
	var status struct{ Model *struct{ Name string } }
	s.Do("GET", "/api/rag/index/status", nil, http.StatusOK, &status)
	if status.Model == nil {
		return ""
	}
	return status.Model.Name
}

// vectorSearch is the body of a search by vectors only.
const vectorSearch = `{"query":"server is down","weights":{"text":0,"graph":0,"vector":1}}`

// searchByVector searches by vectors only and returns the names of the hits. Without a vector index
// the API answers 503.
func (s *server) searchByVector() []string {
	s.t.Helper()
	return s.namesOfHits(s.Do("POST", "/api/rag/hybrid-search", json.RawMessage(vectorSearch), http.StatusOK, nil))
}

// firstSearchByVector is searchByVector for the first search after a start. On a busy machine, reading the
// collection may take longer than a search may, and the API answers 503; the search is then repeated.
func (s *server) firstSearchByVector() []string {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		answer, err := s.Try("POST", "/api/rag/hybrid-search", []byte(vectorSearch))
		require.NoError(s.t, err)
		if answer.Status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			require.Equal(s.t, http.StatusOK, answer.Status, "%+v", answer.Error)
			return s.namesOfHits(answer)
		}
	}
}

func (s *server) namesOfHits(answer harness.Answer) (names []string) {
	s.t.Helper()
	var hits []struct{ Node node }
	require.NoError(s.t, json.Unmarshal(answer.Data, &hits))
	for _, h := range hits {
		names = append(names, h.Node.Name)
	}
	return names
}

// embedderRuns reports whether a process listens on the port of the embedded embedder with the default model.
func (s *server) embedderRuns() bool { return s.engineRuns("embedder") }

// engineRuns reports whether a process listens on the port of an embedded engine that has run.
func (s *server) engineRuns(name string) bool {
	s.t.Helper()
	payload, err := os.ReadFile(filepath.Join(s.DataDir, name, "endpoint.json"))
	require.NoError(s.t, err)
	var at struct{ Port int }
	require.NoError(s.t, json.Unmarshal(payload, &at))
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port)))
	if err != nil {
		return false
	}
	require.NoError(s.t, conn.Close())
	return true
}
