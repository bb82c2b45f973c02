package e2e

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// The service runs with Redis behind Sentinels, and continues while and after the primary is killed.
func TestTheServiceRunsWithSentinels(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	redis := testenv.StoppableRedisSentinels(t)
	s := newServer(t)
	s.Env = append(
		s.Env, "LIVEGRAPH_REDIS_URL="+redis.URL(), "LIVEGRAPH_REDIS_SENTINEL_PASSWORD="+redis.SentinelPassword,
	)
	s.requireServiceWith("redis-sentinel://", redis.Servers[0].Kill)
}

// The service runs with a Redis Cluster, and continues while and after a primary is killed.
func TestTheServiceRunsWithARedisCluster(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	redis := testenv.StoppableRedisCluster(t, 1)
	s := newServer(t)
	s.Env = append(s.Env, "LIVEGRAPH_REDIS_URL="+redis.URL())
	s.requireServiceWith("redis-cluster://", redis.Primaries[0].Kill)
}

// requireServiceWith starts the server, uses it, kills a server of Redis and uses it again.
func (s *server) requireServiceWith(scheme string, kill func() error) {
	s.t.Helper()
	s.Start()
	workspace := s.workspace("--plan", "enterprise", "--per-minute", "1000000", "--per-day", "1000000")
	key := s.key(workspace, "--scope", "read:nodes")
	s.Do("POST", "/api/live-data/sources", map[string]any{"name": "boiler"}, http.StatusCreated, nil)
	use := func() {
		var accepted struct{ Checkpoint string }
		s.Do("POST", "/api/live-data/ingest", map[string]any{
			"source": "boiler", "points": []any{map[string]any{"metric": "temperature", "value": 71.5}},
		}, http.StatusCreated, &accepted)
		s.Do("GET", "/api/live-data/query?source=boiler&checkpoint="+accepted.Checkpoint, nil, http.StatusOK, nil)
		a, err := s.TryAs(key.Key, key.workspace, http.MethodGet, limitPath, nil)
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusOK, a.Status)
		var created struct{ Node struct{ ID string } }
		s.command(createNode(uuid.New(), "a pump"), http.StatusCreated, &created)
		path := "/api/queries/nodes/" + created.Node.ID
		s.command(map[string]any{"type": "UNDO"}, http.StatusOK, nil)
		s.Do("GET", path, nil, http.StatusNotFound, nil)
		s.command(map[string]any{"type": "REDO"}, http.StatusOK, nil)
		s.Do("GET", path, nil, http.StatusOK, nil)
	}
	use()
	environment := s.Env
	s.Env = nil // the command reads the settings of Redis from the run file
	require.Contains(s.t, s.CLI("doctor"), scheme)
	s.Env = environment
	require.NoError(s.t, kill())
	for range 20 {
		use()
	}
	s.CLI("workspaces", "delete", workspace, "--yes")
	require.Zero(s.t, s.Stop())
}
