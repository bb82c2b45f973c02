package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// setStdin replaces the standard input by a text until the test ends.
func setStdin(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdin")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	terminal := os.Stdin
	os.Stdin = file
	t.Cleanup(func() { os.Stdin = terminal; _ = file.Close() })
}

func TestOperatorsAreMadeListedResetAndDeleted(t *testing.T) {
	db, ok, bad := commandLine(t)
	created := decode[operatorWithPassword](t, ok("operators", "create", "--name", "ops", "--json"))
	require.Len(t, created.Password, 24)
	secret, err := db.OperatorByName(t.Context(), "ops")
	require.NoError(t, err)
	require.True(t, password.Matches(secret.PasswordHash, created.Password))
	require.Contains(t, bad("operators", "create", "--name", "ops"), "already")

	open := func(hash [32]byte) error {
		return db.OpenOperatorSession(t.Context(), access.NewOperatorSession{
			Hash: hash, Operator: secret.ID, PasswordHash: secret.PasswordHash, Age: time.Hour,
		})
	}
	require.NoError(t, open([32]byte{1}))
	require.NoError(t, open([32]byte{2}))
	for _, list := range []string{ok("operators", "list"), ok("operators", "list", "--json")} {
		require.Contains(t, list, "ops")
		require.NotContains(t, list, created.Password)
		require.NotContains(t, list, "argon2")
	}
	require.Equal(t, 2, decode[[]access.Operator](t, ok("operators", "list", "--json"))[0].Sessions)

	next := decode[operatorWithPassword](t, ok("operators", "password", "ops", "--json"))
	require.NotEqual(t, created.Password, next.Password)
	for _, hash := range [][32]byte{{1}, {2}} {
		_, err := db.OperatorSession(t.Context(), hash, time.Hour, true)
		require.Error(t, err, "a reset ends all sessions")
	}
	require.Error(t, open([32]byte{3}), "a login that was checked against the old password comes too late")

	setStdin(t, "a password of my own\r\nand more")
	require.NotContains(t, ok("operators", "password", "ops", "--stdin"), "of my own")
	secret, err = db.OperatorByName(t.Context(), "ops")
	require.NoError(t, err)
	require.True(t, password.Matches(secret.PasswordHash, "a password of my own"))

	require.Contains(t, bad("operators", "delete", "ops"), "last operator")
	require.Regexp(t, `^\w{24}\n`, ok("operators", "create", "--name", "second"))
	require.Contains(t, ok("operators", "delete", "ops"), "deleted")
}

func TestInvalidOperatorCommandsReportWhy(t *testing.T) {
	_, ok, bad := commandLine(t)
	ok("operators", "create", "--name", "ops")
	for want, args := range map[string][]string{
		"letters and digits": {"operators", "create", "--name", "a b"},
		"No operator":        {"operators", "password", "nobody"},
		"No operator nobody": {"operators", "delete", "nobody"},
	} {
		require.Contains(t, bad(args...), want)
	}
	setStdin(t, "short\n")
	require.Contains(t, bad("operators", "password", "ops", "--stdin"), "12 to 256")
}
