package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/pgtest"
)

// commandLine creates a database for the test and sets the environment so that commands
// use it, as in production. ok and bad run a command that must succeed or fail.
func commandLine(t *testing.T) (db *stores.DB, ok func(args ...string) string, bad func(args ...string) string) {
	t.Helper()
	url := pgtest.Migrated(t)
	t.Setenv("LIVEGRAPH_POSTGRES_URL", url)
	db, err := stores.Open(t.Context(), url, 2)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	call := func(wantSuccess bool) func(args ...string) string {
		return func(args ...string) string {
			t.Helper()
			var stdout, stderr bytes.Buffer
			code := Main("test", args, &stdout, &stderr)
			require.Equal(t, wantSuccess, code == 0, "%v: %s%s", args, &stdout, &stderr)
			if wantSuccess {
				return stdout.String()
			}
			return stderr.String()
		}
	}
	return db, call(true), call(false)
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func TestAKeyIsMadeListedRolledAndRevoked(t *testing.T) {
	db, ok, bad := commandLine(t)
	workspace := decode[access.Workspace](t, ok("workspaces", "create", "--name", "plant 7", "--json")).ID.String()

	type created struct {
		ID, Key, ActorID string
		Scopes           []string
		ExpiresAt        *time.Time
	}
	key := decode[created](
		t,
		ok("keys", "create", "--workspace", workspace, "--name", "reader", "--scope", "read:livedata",
			"--scope", "read:nodes", "--scope", "read:nodes", "--expires", "90d", "--json"),
	)
	text, err := apikey.Parse(key.Key)
	require.NoError(t, err)
	require.Equal(t, []string{"read:livedata", "read:nodes"}, key.Scopes)
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), *key.ExpiresAt, time.Minute)
	credential, _, err := db.CredentialByHash(t.Context(), text.Hash())
	require.NoError(t, err)
	require.Equal(t, key.ID, credential.ID.String())

	bare := ok("keys", "create", "--workspace", workspace, "--name", "bare")
	require.Regexp(t, `^lg_live_[0-9A-Za-z]{38}\n`, bare)

	for _, list := range []string{
		ok("keys", "list"), ok("keys", "list", "--json"), ok("keys", "list", "--workspace", workspace),
	} {
		require.NotContains(t, list, key.Key)
		require.NotContains(t, list, strings.TrimSpace(strings.SplitN(bare, "\n", 2)[0]))
		require.Contains(t, list, key.ID)
	}
	require.NotContains(t, ok("keys", "list", "--workspace", uuid.NewString()), key.ID)

	next := decode[created](t, ok("keys", "roll", key.ID, "--grace", "2h", "--json"))
	require.Equal(t, key.ActorID, next.ActorID)
	require.NotEqual(t, key.Key, next.Key)
	ok("keys", "revoke", key.ID)
	require.NotNil(t, decode[access.Key](t, ok("keys", "revoke", key.ID, "--json")).RevokedAt)
	require.Contains(t, bad("keys", "roll", key.ID), "revoked")
	require.Contains(t, ok("keys", "list"), "revoked")
}

func TestInvalidKeyCommandsReportWhy(t *testing.T) {
	_, ok, bad := commandLine(t)
	live := decode[access.Workspace](t, ok("workspaces", "create", "--name", "live", "--json")).ID.String()
	sandbox := decode[access.Workspace](t, ok(
		"workspaces", "create", "--name", "sandbox", "--mode", "test", "--json",
	)).ID.String()
	create := func(flags ...string) []string { return append([]string{"keys", "create", "--name", "x"}, flags...) }
	for want, args := range map[string][]string{
		"read:nodes":      create("--workspace", live, "--scope", "read"),
		"no workspace":    create("--workspace", uuid.NewString()),
		"different modes": create("--workspace", live, "--workspace", sandbox),
		"workspace":       create(),
		"not a duration":  create("--workspace", live, "--expires", "soon"),
		"above zero":      create("--workspace", live, "--expires=-1h"),
		"100 years":       create("--workspace", live, "--expires", "99999999d"),
		"characters":      {"keys", "create", "--workspace", live, "--name", "a\x1b[2J"},
		"No key":          {"keys", "revoke", uuid.NewString()},
		"UUID":            {"keys", "revoke", "x"},
	} {
		require.Contains(t, bad(args...), want)
	}
	require.Regexp(t, "^lg_test_", ok(create("--workspace", sandbox)...), "a key is of its workspaces' mode")
}

func TestLifetimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute,
	} {
		d, err := parseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, d)
	}
	for _, text := range []string{
		"", "d", "0", "0d", "-1d", "1.5d", "9223372036854775807d", "36501d", "6000w", "90 d", "x",
	} {
		_, err := parseDuration(text)
		require.Error(t, err, text)
	}
}
