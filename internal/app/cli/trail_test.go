package cli

import (
	"bytes"
	"os/user"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/pgtest"
)

func TestWhatTheCommandLineDoesIsInTheOperatorsTrail(t *testing.T) {
	url := pgtest.Migrated(t)
	t.Setenv("LIVEGRAPH_POSTGRES_URL", url)
	db, err := stores.Open(t.Context(), url, 2)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: access.PlanStarter, Mode: "live"})
	require.NoError(t, err)
	cli := func(args ...string) int {
		var out, problems bytes.Buffer
		code := Main("test", args, &out, &problems)
		t.Log(out.String(), problems.String())
		return code
	}
	require.Zero(t, cli("workspaces", "list"))
	require.Zero(t, cli("keys", "create", "--workspace", w.ID.String(), "--name", "n"))
	require.Equal(t, 1, cli("keys", "revoke", uuid.NewString()))
	require.Zero(t, cli("workspaces", "update", w.ID.String(), "--name", "renamed"))

	acts, err := db.OperatorActs(t.Context(), access.OperatorActFilter{}, 10)
	require.NoError(t, err)
	require.Len(t, acts, 3, "a list of workspaces is none")
	me, err := user.Current()
	require.NoError(t, err)
	for _, a := range acts {
		require.Nil(t, a.Operator)
		require.Equal(t, "cli:"+me.Username, a.OperatorName)
		require.Equal(t, "CLI", a.Method)
		require.NotNil(t, a.Status)
	}
	keys, err := db.Keys(t.Context(), &w.ID)
	require.NoError(t, err)
	require.Equal(t, "livegraph keys create", acts[2].Route)
	require.Equal(t, w.ID, *acts[2].Workspace)
	require.Equal(t, []string{keys[0].ID.String()}, acts[2].Results)
	require.ElementsMatch(t, []string{"workspace", "name"}, acts[2].Fields)
	require.EqualValues(t, 404, *acts[1].Status)
	require.Equal(t, "livegraph workspaces update", acts[0].Route)
	require.Equal(t, w.ID, *acts[0].Workspace)
	require.Equal(t, []string{"name"}, acts[0].Fields)
	require.EqualValues(t, 200, *acts[0].Status)

	inWorkspace, err := db.OperatorActs(t.Context(), access.OperatorActFilter{Workspace: &w.ID}, 10)
	require.NoError(t, err)
	require.Len(t, inWorkspace, 2)
}
