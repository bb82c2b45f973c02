package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// testAnalyses analyzes a graph by the command line.
func testAnalyses(t *testing.T, s *server) {
	hub := uuid.NewString()
	create := func(kind string, payload map[string]any) {
		s.Do(http.MethodPost, "/api/commands/execute", map[string]any{"type": kind, "payload": payload},
			http.StatusCreated, nil)
	}
	create("CREATE_NODE", map[string]any{"id": hub, "name": "hub", "entityType": "object"})
	for i := range 2 {
		leaf := uuid.NewString()
		create("CREATE_NODE", map[string]any{"id": leaf, "name": fmt.Sprint("leaf ", i), "entityType": "actor"})
		create("CREATE_EDGE", map[string]any{
			"sourceId": leaf, "targetId": hub, "relationType": "feeds", "properties": map[string]any{"w": i + 1},
		})
	}
	printed := s.CLI("graph", "analyze", "degree", "--weight", "w", "--property", "degree")
	require.Regexp(t, `(?s)done, 3 nodes, 2 edges, 3 written, 0 unchanged, 0 skipped\n.*VALUE +NODE.*\n3 +`+hub, printed)
	require.Regexp(t, `(?s)SIZE.*\n0 +3 .*groups: 1`, s.CLI("graph", "analyze", "components"))
	require.Contains(t, s.CLI("graph", "analyze", "communities", "--relation-type", "none"), "modularity: 0.0000")
	require.Contains(t, s.CLI("graph", "analyze", "pagerank", "--damping", "0.5", "--json"), `"converged": true`)
	require.Contains(t, s.CLI("graph", "analyze", "degree", "--entity-type", "actor", "--detach"), "is queued")
	require.Contains(t, s.CLI("graph", "analyses"), "5 analyses")
	output, code := s.RunCLI("graph", "analyze", "rank")
	require.NotZero(t, code)
	require.Contains(t, output, "pagerank")
}

// TestAnAnalysisContinuesAfterACrash kills the server while an analysis writes its results. The analysis continues
// after the restart, and each node is written once.
func TestAnAnalysisContinuesAfterACrash(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Start()
	const nodes = 12_000
	var text strings.Builder
	for i := range nodes {
		fmt.Fprintf(&text, `{"node":{"id":%q,"name":"pump %d","entityType":"object"}}`+"\n", uuid.NewString(), i)
	}
	file := filepath.Join(t.TempDir(), "pumps")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	s.CLI("import", file)
	var queued struct{ Data struct{ ID string } }
	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("graph", "analyze", "components", "--property", "component", "--detach", "--json")), &queued,
	))
	type state struct {
		State                       string
		Written, Unchanged, Skipped int
	}
	read := func() (a state) {
		answer, err := s.Try(http.MethodGet, "/api/analyses/"+queued.Data.ID, nil)
		if err == nil {
			_ = json.Unmarshal(answer.Data, &a)
		}
		return a
	}
	require.Eventually(t, func() bool {
		return read().Written > 0
	}, time.Minute, 5*time.Millisecond)
	s.Kill()
	s.Start()
	var done state
	require.Eventually(t, func() bool {
		done = read()
		return done.State == "done"
	}, time.Minute, 50*time.Millisecond)
	require.Zero(t, done.Skipped)
	require.Positive(t, done.Unchanged, "the run after the crash finds what the first one wrote")
	require.EqualValues(t, nodes, s.total("/api/queries/nodes"))
	conn, err := pgx.Connect(t.Context(), s.RunFile().PostgresURL)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var once, more int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE version = 2 AND properties ? 'component'),
		count(*) FILTER (WHERE version > 2) FROM nodes WHERE NOT deleted`).Scan(&once, &more))
	require.Equal(t, nodes, once)
	require.Zero(t, more)
}
