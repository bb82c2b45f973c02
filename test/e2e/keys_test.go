package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

const (
	// keyPropagation is the time after which a change of a key applies in every process.
	keyPropagation = time.Second
	// statusAllowed is the status of protectedPath if key, workspace and scope are valid.
	statusAllowed = http.StatusBadRequest
	// protectedPath requires read:livedata. Its parameters are invalid, so that no store is queried.
	protectedPath = "/api/live-data/query?limit=0"
)

// createdKey is a new key in the JSON of the command line.
type createdKey struct{ ID, Key, ActorID, workspace string }

// twoAPIs is two API processes on the same engines. The second connects to Postgres and Redis through
// valves, which can be cut.
type twoAPIs struct {
	t               *testing.T
	first, second   *server
	db              *pgx.Conn
	postgres, redis *harness.Proxy
}

func startTwoAPIs(t *testing.T) *twoAPIs {
	t.Helper()
	s := harness.NewSplit(t, binary, []harness.Role{{Name: "api", Count: 2}})
	two := &twoAPIs{
		t: t, first: &server{Server: s.ByRole("api")[0], t: t}, second: &server{Server: s.ByRole("api")[1], t: t},
	}
	engine := func(name string) string {
		for _, setting := range two.first.Env {
			if value, ok := strings.CutPrefix(setting, name+"="); ok {
				return value
			}
		}
		t.Fatal(name + " is not set")
		return ""
	}
	var proxied [2]string
	two.postgres, proxied[0] = harness.NewProxy(t, engine("LIVEGRAPH_POSTGRES_URL"))
	two.redis, proxied[1] = harness.NewProxy(t, engine("LIVEGRAPH_REDIS_URL"))
	two.second.Env = append(
		slices.Clone(two.first.Env), "LIVEGRAPH_POSTGRES_URL="+proxied[0], "LIVEGRAPH_REDIS_URL="+proxied[1],
	)
	var err error
	two.db, err = pgx.Connect(t.Context(), engine("LIVEGRAPH_POSTGRES_URL"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = two.db.Close(context.Background()) })
	s.Start()
	return two
}

// workspace creates a workspace by command line, without args on the plan with the highest limits.
func (s *server) workspace(args ...string) string {
	s.t.Helper()
	if len(args) == 0 {
		args = []string{"--plan", "enterprise"}
	}
	var w struct{ ID string }
	require.NoError(s.t, json.Unmarshal(
		[]byte(s.CLI(append([]string{"workspaces", "create", "--name", "w", "--json"}, args...)...)), &w,
	))
	return w.ID
}

// key creates a key by command line.
func (s *server) key(workspace string, args ...string) createdKey {
	s.t.Helper()
	k := createdKey{workspace: workspace}
	args = append([]string{"keys", "create", "--workspace", workspace, "--name", "k", "--json"}, args...)
	require.NoError(s.t, json.Unmarshal([]byte(s.CLI(args...)), &k))
	return k
}

// roll creates a successor of a key by command line.
func (s *server) roll(old createdKey, grace string) createdKey {
	s.t.Helper()
	k := createdKey{workspace: old.workspace}
	require.NoError(s.t, json.Unmarshal([]byte(s.CLI("keys", "roll", old.ID, "--grace", grace, "--json")), &k))
	return k
}

// keyStatus sends a request with a key and returns the status.
func (s *server) keyStatus(k createdKey) int {
	s.t.Helper()
	a, err := s.TryAs(k.Key, k.workspace, http.MethodGet, protectedPath, nil)
	require.NoError(s.t, err)
	return a.Status
}

// requireSoon waits until requests with a key have a status.
func (s *server) requireSoon(k createdKey, status int, why string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.keyStatus(k) == status }, time.Minute, 20*time.Millisecond, why)
}

// change is a change that restricts a key.
type change struct {
	name   string
	apply  func(k createdKey)
	status int // after the change
}

func (two *twoAPIs) changes() []change {
	sql := func(statement string) func(createdKey) {
		return func(k createdKey) {
			_, err := two.db.Exec(two.t.Context(), statement, k.ID)
			require.NoError(two.t, err)
		}
	}
	return []change{
		{"revoked", func(k createdKey) { two.first.CLI("keys", "revoke", k.ID) }, http.StatusUnauthorized},
		{"rolled, its grace over", func(k createdKey) { two.first.roll(k, "1ms") }, http.StatusUnauthorized},
		{"a lower scope", sql(`UPDATE api_keys SET scopes = '{read:nodes}' WHERE id = $1`), http.StatusForbidden},
		{"its workspace taken away", sql(`DELETE FROM api_key_workspaces WHERE key_id = $1`), http.StatusForbidden},
		{"its workspace deleted", func(k createdKey) {
			two.first.CLI("workspaces", "delete", k.workspace, "--yes", "--no-wait")
		}, http.StatusForbidden},
	}
}

// TestChangesOfKeysHoldOnASecondProcess requires that changes apply in a second process within a
// second even if one of the two channels that propagate them is cut. With both cut, the process
// accepts no key.
func TestChangesOfKeysHoldOnASecondProcess(t *testing.T) {
	t.Parallel()
	two := startTwoAPIs(t)
	for _, c := range []struct {
		name     string
		cut      []*harness.Proxy
		verifies bool // the second process can read keys from Postgres
	}{
		{"by both channels", nil, true},
		{"with Redis cut", []*harness.Proxy{two.redis}, true},
		{"with Postgres cut", []*harness.Proxy{two.postgres}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := two.changes()
			keys := make([]createdKey, len(changes))
			for i := range changes {
				keys[i] = two.first.key(two.first.workspace("--plan", "enterprise"), "--scope", "read:livedata")
				for _, process := range []*server{two.first, two.second} {
					require.Equal(t, statusAllowed, process.keyStatus(keys[i]), "a new key works at once")
				}
			}
			time.Sleep(keyPropagation) // the latest change has reached every process
			for _, k := range keys {
				require.Equal(t, statusAllowed, two.second.keyStatus(k), "it is remembered as of then")
			}
			for _, valve := range c.cut {
				valve.Cut()
				defer valve.Restore()
			}
			if !c.verifies {
				time.Sleep(2 * keyPropagation) // what was read from Postgres is out of date
				two.second.requireSoon(keys[0], statusAllowed, "the other process tells that nothing has changed")
			}
			for i, change := range changes {
				change.apply(keys[i])
			}
			time.Sleep(keyPropagation)
			for i, change := range changes {
				require.Equal(t, change.status, two.first.keyStatus(keys[i]), change.name)
				if c.verifies {
					require.Equal(t, change.status, two.second.keyStatus(keys[i]), change.name)
				} else {
					require.Equal(
						t, http.StatusServiceUnavailable, two.second.keyStatus(keys[i]), "%s: it cannot be looked up", change.name,
					)
				}
			}
		})
	}
	t.Run("with both cut", func(t *testing.T) {
		k := two.first.key(two.first.First.WorkspaceID, "--scope", "read:livedata")
		two.second.requireSoon(k, statusAllowed, "Postgres is there again")
		two.postgres.Cut()
		two.redis.Cut()
		time.Sleep(keyPropagation)
		a, err := two.second.TryAs(k.Key, k.workspace, http.MethodGet, protectedPath, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.Status)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		require.Equal(t, statusAllowed, two.first.keyStatus(k))
		two.postgres.Restore()
		two.redis.Restore()
		two.second.requireSoon(k, statusAllowed, "it goes on as before")
	})
}

// TestARolledKeyLivesUntilItsGraceEnds requires that both keys work in every process as the same actor
// until the grace period ends.
func TestARolledKeyLivesUntilItsGraceEnds(t *testing.T) {
	t.Parallel()
	two := startTwoAPIs(t)
	both := []*server{two.first, two.second}
	old := two.first.key(two.first.First.WorkspaceID, "--scope", "read:livedata", "--scope", "write:nodes")
	actor := func(s *server, k createdKey) (me struct{ ActorID, KeyID string }) {
		a, err := s.TryAs(k.Key, k.workspace, http.MethodGet, "/api/me", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.Status, "%+v", a.Error)
		require.NoError(t, json.Unmarshal(a.Data, &me))
		return me
	}
	for _, process := range both {
		require.Equal(t, statusAllowed, process.keyStatus(old))
	}
	grace := 15 * time.Second // longer than the checks below take
	asked := time.Now()
	successor := two.first.roll(old, grace.String())
	ends := time.Now().Add(grace)
	require.NotEqual(t, old.Key, successor.Key)
	for _, process := range both {
		require.Equal(t, statusAllowed, process.keyStatus(successor), "the successor works at once")
		status := process.keyStatus(old)
		if time.Since(asked) < grace {
			require.Equal(t, statusAllowed, status, "the old key lives on")
			require.Equal(t, actor(process, old).ActorID, actor(process, successor).ActorID)
			require.Equal(t, successor.ID, actor(process, successor).KeyID)
		}
	}
	third := two.first.roll(successor, "24h")
	require.Equal(t, actor(two.second, successor).ActorID, actor(two.second, third).ActorID, "and so on")
	time.Sleep(time.Until(ends)) // the end is known in advance; no channel has to propagate it
	for _, process := range both {
		require.Equal(t, http.StatusUnauthorized, process.keyStatus(old))
		require.Equal(t, statusAllowed, process.keyStatus(successor))
		require.Equal(t, statusAllowed, process.keyStatus(third))
	}
	two.first.CLI("keys", "revoke", successor.ID)
	time.Sleep(keyPropagation)
	for _, process := range both {
		require.Equal(
			t, http.StatusUnauthorized, process.keyStatus(successor), "to revoke one is not to revoke its successor",
		)
		require.Equal(t, statusAllowed, process.keyStatus(third))
	}
	out, code := two.first.RunCLI("keys", "roll", successor.ID)
	require.NotZero(t, code, "a revoked key has no successor: %s", out)
}
