package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// The service runs through PgBouncer in transaction mode, where each transaction may run in another session. Migrations
// go to Postgres itself.
func TestTheServiceRunsThroughPgBouncer(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	direct := testenv.Postgres(t)
	s := newServer(t)
	s.Env = append(s.Env, "LIVEGRAPH_POSTGRES_URL="+testenv.PgBouncer(t, direct), "LIVEGRAPH_POSTGRES_DIRECT_URL="+direct,
		"LIVEGRAPH_EMBEDDER=static") // the larger model does not keep up with the load beside other tests
	s.Start()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	fleet, reader := newGraphLoad(s, seed), readEvents(s)
	defer reader.stop()
	fleet.start()
	for range 3 {
		s.requireSearchable(uuid.New())
		s.requireDocument(uuid.NewString())
		s.requireWorkspaceDeletion()
	}
	require.Eventually(t, func() bool { return len(fleet.answered()) > 500 }, 2*time.Minute, 50*time.Millisecond)
	fleet.stop()
	last := fleet.mustWrite(t)
	reader.waitFor(t, last.Sequence)
	require.Empty(t, reader.violations(), "events come once and in order")
	reader.compareAnswers(t, fleet.answered())
	compareGraphs(t, reader.fold(), listGraph(s))

	var accepted struct{ Checkpoint string }
	s.Do("POST", "/api/live-data/sources", map[string]any{"name": "boiler"}, http.StatusCreated, nil)
	s.Do("POST", "/api/live-data/ingest", map[string]any{
		"source": "boiler", "points": []any{map[string]any{"metric": "temperature", "value": 71.5}},
	}, http.StatusCreated, &accepted)
	s.Do("GET", "/api/live-data/query?source=boiler&checkpoint="+accepted.Checkpoint, nil, http.StatusOK, nil)
	id := uuid.New()
	s.command(createNode(id, "a valve"), http.StatusCreated, nil)
	s.command(map[string]any{"type": "UNDO"}, http.StatusOK, nil)
	s.Do("GET", "/api/queries/nodes/"+id.String(), nil, http.StatusNotFound, nil)
	s.command(map[string]any{"type": "REDO"}, http.StatusOK, nil)
	s.Do("GET", "/api/queries/nodes/"+id.String(), nil, http.StatusOK, nil)

	requireNoSessionState(t, direct)
	require.Zero(t, s.CountLogLines("prepared statement"))
	require.Zero(t, s.Stop())
	s.Start() // migrates again
	s.Do("GET", "/api/queries/nodes/"+id.String(), nil, http.StatusOK, nil)
	require.Contains(t, s.CLI("doctor"), "postgres")
	require.Zero(t, s.Stop())
}

// requireSearchable creates a node with a rare name and waits until both lanes of the search have it.
func (s *server) requireSearchable(name uuid.UUID) {
	s.t.Helper()
	s.command(createNode(uuid.New(), "turbine "+name.String()), http.StatusCreated, nil)
	require.Eventually(s.t, func() bool {
		var hits []struct {
			Node   struct{ Name string }
			Scores struct{ Text, Vector float64 }
		}
		s.Do("POST", "/api/rag/search", map[string]any{"query": "turbine " + name.String()}, http.StatusOK, &hits)
		return len(hits) > 0 && hits[0].Node.Name == "turbine "+name.String() && hits[0].Scores.Text > 0 &&
			hits[0].Scores.Vector > 0
	}, time.Minute, 50*time.Millisecond, "a node is not found")
}

// requireDocument stores a document, and reads it.
func (s *server) requireDocument(id string) {
	s.t.Helper()
	s.Do("POST", "/api/documents", map[string]any{"documents": []any{map[string]any{
		"externalId": id, "title": "Manual " + id, "text": "The pump moves water.",
	}}}, http.StatusAccepted, nil)
	require.Positive(s.t, s.total("/api/documents"))
}

// requireWorkspaceDeletion creates a workspace with data and deletes it from all stores.
func (s *server) requireWorkspaceDeletion() {
	s.t.Helper()
	workspace := s.workspace("--plan", "enterprise", "--per-minute", "1000000", "--per-day", "1000000")
	key := s.key(workspace, "--scope", "admin")
	body := []byte(`{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object"}}`)
	a, err := s.TryAs(key.Key, workspace, http.MethodPost, "/api/commands/execute", body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusCreated, a.Status, "%+v", a.Error)
	require.Contains(s.t, s.CLI("workspaces", "delete", workspace, "--yes", "--json"), `"deleted": true`)
}

// requireNoSessionState checks that the sessions that PgBouncer shares have no locks and no settings of one client.
func requireNoSessionState(t *testing.T, address string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	require.Eventually(t, func() bool {
		var locks int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE l.locktype = 'advisory' AND a.datname = current_database() AND a.state = 'idle'`).Scan(&locks))
		return locks == 0
	}, time.Minute, 50*time.Millisecond, "a session without a transaction has locks")
}
