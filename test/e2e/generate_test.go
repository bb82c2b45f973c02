package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/chatmodel"
	"github.com/livegraph/livegraph/test/rerankmodel"
)

// echo answers with the passages, without the question, so that what a model has read is in the answer.
func echo(w http.ResponseWriter, _ *http.Request, q *chatmodel.Request) {
	passages := q.Messages[len(q.Messages)-1].Content
	passages = passages[:strings.LastIndexByte(passages, '\n')+1]
	chatmodel.Write(w, "stop", passages, " It is so [1].")
}

// chatFlags returns the settings of a chat model.
func chatFlags(model *chatmodel.Server) []string {
	return []string{
		"--chat-url", model.URL, "--chat-model", chatmodel.Model, "--chat-key", chatmodel.Key,
		"--chat-allow-private-addresses",
	}
}

// rerankFlags returns the settings of a reranker of the test.
func rerankFlags(t *testing.T) []string {
	t.Helper()
	return []string{
		"--rerank-url", rerankmodel.Start(t).URL, "--rerank-model", rerankmodel.Model, "--rerank-key", rerankmodel.Key,
		"--rerank-allow-private-addresses",
	}
}

func TestAnswersByAChatModel(t *testing.T) {
	t.Parallel()
	model := chatmodel.Start(t)
	s := newServer(t, append(append(chatFlags(model), rerankFlags(t)...), "--log-level=debug")...)
	s.Start()
	variables, _, found := strings.Cut(shellBlock(t, "First steps"), "\n\n")
	require.True(t, found)
	commands := strings.Replace(shellBlockOf(t, "docs/search.md", "Try it"), "sleep 3", "sleep 10", 1)
	answers := paste(t, s, variables+"\n"+commands)
	require.Len(t, answers, 5)
	quoted, err := json.Marshal(answers[3]["data"])
	require.NoError(t, err)
	require.Contains(t, string(quoted), "Blows stale air out of the laboratory. [1]")

	model.Reply("Fan 12 blows stale air ", "out of the laboratory [1]. It was built in 1987 [1].")
	streamed := runCommands(t, s, testedCommands(t, "search.md")[0])
	require.Contains(t, streamed, "event: token\ndata: {\"text\":\"Fan 12 blows stale air \"}\n")
	require.Contains(t, streamed, `"supported":true`)
	require.Contains(t, streamed, `"supported":false`)

	const text = "Fan 12 blows stale air out of the laboratory [1]. It was built in 1987 [1]."
	printed := s.CLI("answer", "--generate", "where does Fan 12 blow the stale air?")
	require.Contains(t, printed, text)
	require.Contains(t, printed, "written by "+chatmodel.Model)
	require.Contains(t, printed, "not in the cited sources: It was built in 1987.")
	require.Contains(t, printed, "[1] Fan 12")

	require.Contains(t, s.CLI("search", "--rerank", "noisy ventilation device"), "reranked ")
	require.Contains(t, s.CLI("answer", "--rerank", "where does Fan 12 blow the stale air?"), "[1] Fan 12")
	require.Equal(t, doctor.OK, s.finding("reranker").Status)

	model.Reply("ready")
	require.Equal(t, doctor.OK, s.finding("chat model").Status)
	model.Handle(func(w http.ResponseWriter, _ *http.Request, _ *chatmodel.Request) { chatmodel.Refuse(w, 503, "x") })
	printed = s.CLI("answer", "--generate", "where does Fan 12 blow the stale air?")
	require.Contains(t, printed, "Blows stale air out of the laboratory. [1]")
	require.Contains(t, printed, "generation")
	require.Equal(t, doctor.Failed, s.finding("chat model").Status)

	var answer struct{ Generated *struct{} }
	body := map[string]any{"query": "where does Fan 12 blow the stale air?", "mode": "generate"}
	s.Do(http.MethodPost, "/api/rag/answer", body, http.StatusOK, &answer)
	require.Nil(t, answer.Generated)
	s.requireNoModelKeys()
}

// requireNoModelKeys checks that the keys of the models are only in the run file while the server runs.
func (s *server) requireNoModelKeys() {
	s.t.Helper()
	keys := []string{chatmodel.Key, rerankmodel.Key}
	settings := s.CLI("config")
	for _, key := range keys {
		require.NotContains(s.t, settings, key)
		require.Zero(s.t, s.CountLogLines(key))
	}
	require.Equal(s.t, 0, s.Stop())
	err := filepath.WalkDir(s.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, key := range keys {
			require.NotContains(s.t, string(content), key, path)
		}
		return err
	})
	require.NoError(s.t, err)
}

func TestAnAnswerIsQuotedWhenItsProcessStops(t *testing.T) {
	t.Parallel()
	model := chatmodel.Start(t)
	s := newServer(t, chatFlags(model)...)
	s.Start()
	s.Do(http.MethodPost, "/api/commands/execute", map[string]any{
		"type": "CREATE_NODE", "payload": map[string]any{
			"name": "Fan 12", "entityType": "object", "description": "Blows stale air out of the laboratory.",
		},
	}, http.StatusCreated, nil)
	body := []byte(`{"query":"where does Fan 12 blow the stale air?","mode":"generate"}`)
	model.Reply("NO_ANSWER")
	require.Eventually(t, func() bool {
		a, err := s.Try(http.MethodPost, "/api/rag/answer", body)
		return err == nil && a.Status == http.StatusOK && len(model.Requests()) > 0
	}, time.Minute, 100*time.Millisecond)
	model.Handle(func(_ http.ResponseWriter, r *http.Request, _ *chatmodel.Request) { <-r.Context().Done() })
	calls, answered := len(model.Requests()), make(chan string, 1)
	go func() {
		a, err := s.Try(http.MethodPost, "/api/rag/answer", body)
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- string(a.Data)
	}()
	require.Eventually(t, func() bool { return len(model.Requests()) > calls }, time.Minute, time.Millisecond)
	require.Equal(t, 0, s.Stop())
	data := <-answered
	require.Contains(t, data, `"answer":"Blows stale air out of the laboratory. [1]"`)
	require.NotContains(t, data, "generated")
}
