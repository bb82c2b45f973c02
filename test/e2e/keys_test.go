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
	// keyPromise is the time after which a change holds everywhere.
	keyPromise = time.Second
	// letIn is the answer of keyedPath to whom key, workspace and scope let in.
	letIn = http.StatusBadRequest
	// keyedPath wants read:livedata, and no store before it is wrong.
	keyedPath = "/api/live-data/query?limit=0"
)

// made is a key as the command line prints a new one.
type made struct{ ID, Key, ActorID, workspace string }

// twoAPIs are two API processes on one set of engines. The second reaches Postgres and
// Redis by its own ways, which can be cut.
type twoAPIs struct {
	t               *testing.T
	first, second   *server
	db              *pgx.Conn
	postgres, redis *harness.Valve
}

func startTwoAPIs(t *testing.T) *twoAPIs {
	t.Helper()
	s := harness.NewSplit(t, binary, []harness.Role{{Name: "api", Count: 2}})
	two := &twoAPIs{t: t, first: &server{Server: s.Of("api")[0], t: t}, second: &server{Server: s.Of("api")[1], t: t}}
	engine := func(name string) string {
		for _, setting := range two.first.Env {
			if value, ok := strings.CutPrefix(setting, name+"="); ok {
				return value
			}
		}
		t.Fatal(name + " is not set")
		return ""
	}
	var through [2]string
	two.postgres, through[0] = harness.NewValve(t, engine("LIVEGRAPH_POSTGRES_URL"))
	two.redis, through[1] = harness.NewValve(t, engine("LIVEGRAPH_REDIS_URL"))
	two.second.Env = append(
		slices.Clone(two.first.Env), "LIVEGRAPH_POSTGRES_URL="+through[0], "LIVEGRAPH_REDIS_URL="+through[1],
	)
	var err error
	two.db, err = pgx.Connect(t.Context(), engine("LIVEGRAPH_POSTGRES_URL"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = two.db.Close(context.Background()) })
	s.Start()
	return two
}

// workspace makes a workspace by the command line.
func (s *server) workspace(args ...string) string {
	s.t.Helper()
	var w struct{ ID string }
	require.NoError(s.t, json.Unmarshal(
		[]byte(s.CLI(append([]string{"workspaces", "create", "--name", "w", "--json"}, args...)...)), &w,
	))
	return w.ID
}

// key makes a key by the command line.
func (s *server) key(workspace string, args ...string) made {
	s.t.Helper()
	k := made{workspace: workspace}
	args = append([]string{"keys", "create", "--workspace", workspace, "--name", "k", "--json"}, args...)
	require.NoError(s.t, json.Unmarshal([]byte(s.CLI(args...)), &k))
	return k
}

// roll makes a key's successor by the command line.
func (s *server) roll(old made, grace string) made {
	s.t.Helper()
	k := made{workspace: old.workspace}
	require.NoError(s.t, json.Unmarshal([]byte(s.CLI("keys", "roll", old.ID, "--grace", grace, "--json")), &k))
	return k
}

// ask uses a key and gives the status.
func (s *server) ask(k made) int {
	s.t.Helper()
	a, err := s.TryAs(k.Key, k.workspace, http.MethodGet, keyedPath, nil)
	require.NoError(s.t, err)
	return a.Status
}

// requireSoon waits until a key has a status.
func (s *server) requireSoon(k made, status int, why string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.ask(k) == status }, 30*time.Second, 20*time.Millisecond, why)
}

// change is something that ends what a key may do.
type change struct {
	name   string
	make   func(k made)
	status int // from then on
}

func (two *twoAPIs) changes() []change {
	sql := func(statement string) func(made) {
		return func(k made) {
			_, err := two.db.Exec(two.t.Context(), statement, k.ID)
			require.NoError(two.t, err)
		}
	}
	return []change{
		{"revoked", func(k made) { two.first.CLI("keys", "revoke", k.ID) }, http.StatusUnauthorized},
		{"rolled, its grace over", func(k made) { two.first.roll(k, "1ms") }, http.StatusUnauthorized},
		{"a lower scope", sql(`UPDATE api_keys SET scopes = '{read:nodes}' WHERE id = $1`), http.StatusForbidden},
		{"its workspace taken away", sql(`DELETE FROM api_key_workspaces WHERE key_id = $1`), http.StatusForbidden},
		{"its workspace deleted", func(k made) {
			two.first.CLI("workspaces", "delete", k.workspace, "--yes", "--no-wait")
		}, http.StatusForbidden},
	}
}

// TestChangesOfKeysHoldOnASecondProcess within a second, whichever of the channels by
// which it hears of them is cut; and with both cut it takes no key.
func TestChangesOfKeysHoldOnASecondProcess(t *testing.T) {
	t.Parallel()
	two := startTwoAPIs(t)
	for _, c := range []struct {
		name     string
		cut      []*harness.Valve
		verifies bool // the second process can ask Postgres what a key is worth
	}{
		{"by both channels", nil, true},
		{"with Redis cut", []*harness.Valve{two.redis}, true},
		{"with Postgres cut", []*harness.Valve{two.postgres}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := two.changes()
			keys := make([]made, len(changes))
			for i := range changes {
				keys[i] = two.first.key(two.first.workspace("--plan", "enterprise"), "--scope", "read:livedata")
				for _, process := range []*server{two.first, two.second} {
					require.Equal(t, letIn, process.ask(keys[i]), "a new key works at once")
				}
			}
			time.Sleep(keyPromise) // what was made last is known everywhere
			for _, k := range keys {
				require.Equal(t, letIn, two.second.ask(k), "it is remembered as of then")
			}
			for _, valve := range c.cut {
				valve.Cut()
				defer valve.Join()
			}
			if !c.verifies {
				time.Sleep(2 * keyPromise) // what was read of Postgres is old by now
				two.second.requireSoon(keys[0], letIn, "the other process tells that nothing has changed")
			}
			for i, change := range changes {
				change.make(keys[i])
			}
			time.Sleep(keyPromise)
			for i, change := range changes {
				require.Equal(t, change.status, two.first.ask(keys[i]), change.name)
				if c.verifies {
					require.Equal(t, change.status, two.second.ask(keys[i]), change.name)
				} else {
					require.Equal(t, http.StatusServiceUnavailable, two.second.ask(keys[i]), "%s: it cannot be looked up", change.name)
				}
			}
		})
	}
	t.Run("with both cut", func(t *testing.T) {
		k := two.first.key(two.first.First.WorkspaceID, "--scope", "read:livedata")
		two.second.requireSoon(k, letIn, "Postgres is there again")
		two.postgres.Cut()
		two.redis.Cut()
		time.Sleep(keyPromise)
		a, err := two.second.TryAs(k.Key, k.workspace, http.MethodGet, keyedPath, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.Status)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		require.Equal(t, letIn, two.first.ask(k))
		two.postgres.Join()
		two.redis.Join()
		two.second.requireSoon(k, letIn, "it goes on as before")
	})
}

// TestARolledKeyLivesUntilItsGraceEnds on every process, as the same actor.
func TestARolledKeyLivesUntilItsGraceEnds(t *testing.T) {
	t.Parallel()
	two := startTwoAPIs(t)
	both := []*server{two.first, two.second}
	old := two.first.key(two.first.First.WorkspaceID, "--scope", "read:livedata", "--scope", "write:nodes")
	actor := func(s *server, k made) (me struct{ ActorID, KeyID string }) {
		a, err := s.TryAs(k.Key, k.workspace, http.MethodGet, "/api/me", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.Status, "%+v", a.Error)
		require.NoError(t, json.Unmarshal(a.Data, &me))
		return me
	}
	for _, process := range both {
		require.Equal(t, letIn, process.ask(old))
	}
	grace := 15 * time.Second // longer than it takes to look at all of it
	asked := time.Now()
	successor := two.first.roll(old, grace.String())
	ends := time.Now().Add(grace)
	require.NotEqual(t, old.Key, successor.Key)
	for _, process := range both {
		require.Equal(t, letIn, process.ask(successor), "the successor works at once")
		status := process.ask(old)
		if time.Since(asked) < grace {
			require.Equal(t, letIn, status, "the old key lives on")
			require.Equal(t, actor(process, old).ActorID, actor(process, successor).ActorID)
			require.Equal(t, successor.ID, actor(process, successor).KeyID)
		}
	}
	third := two.first.roll(successor, "24h")
	require.Equal(t, actor(two.second, successor).ActorID, actor(two.second, third).ActorID, "and so on")
	time.Sleep(time.Until(ends)) // no channel needs to tell: it is known when it ends
	for _, process := range both {
		require.Equal(t, http.StatusUnauthorized, process.ask(old))
		require.Equal(t, letIn, process.ask(successor))
		require.Equal(t, letIn, process.ask(third))
	}
	two.first.CLI("keys", "revoke", successor.ID)
	time.Sleep(keyPromise)
	for _, process := range both {
		require.Equal(t, http.StatusUnauthorized, process.ask(successor), "to revoke one is not to revoke its successor")
		require.Equal(t, letIn, process.ask(third))
	}
	out, code := two.first.RunCLI("keys", "roll", successor.ID)
	require.NotZero(t, code, "a revoked key has no successor: %s", out)
}
