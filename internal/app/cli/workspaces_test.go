package cli

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

func TestAWorkspaceIsMadeListedChangedAndDeleted(t *testing.T) {
	_, ok, bad := commandLine(t)
	require.Equal(t, "[]\n", ok("workspaces", "list", "--json"))
	created := decode[access.Workspace](t, ok(
		"workspaces", "create", "--name", "plant", "--plan", "enterprise", "--per-minute", "5", "--per-day", "9", "--json",
	))
	require.EqualValues(t, 5, *created.PerMinute)
	id := created.ID.String()
	require.Regexp(t, id+` +plant +enterprise +live +5 +9 `, ok("workspaces", "list"))

	changed := decode[access.Workspace](t, ok(
		"workspaces", "update", id, "--name", "plant 8", "--per-minute", "0", "--max-series", "7", "--json",
	))
	require.Equal(t, "plant 8", changed.Name)
	require.Nil(t, changed.PerMinute)
	require.EqualValues(t, 9, *changed.PerDay)
	require.EqualValues(t, 7, changed.MaxSeries)
	changed = decode[access.Workspace](t, ok("workspaces", "update", id, "--plan", "pro", "--json"))
	require.Nil(t, changed.PerDay, "another plan's limits are its own")
	require.Contains(t, bad("workspaces", "update", id, "--per-day", "5"), "enterprise")

	require.Contains(t, ok("workspaces", "update", id, "--retention-days", "30"), "kept 30 days")
	require.Contains(t, ok("workspaces", "list"), "30 days")
	changed = decode[access.Workspace](t, ok("workspaces", "update", id, "--name", "plant 9", "--json"))
	require.EqualValues(t, 30, *changed.RetentionDays, "what is not named stays")
	changed = decode[access.Workspace](t, ok("workspaces", "update", id, "--retention-days", "none", "--json"))
	require.Nil(t, changed.RetentionDays)

	require.Contains(t, bad("workspaces", "delete", id), "--yes", "nobody can be asked")
	require.Contains(t, ok("workspaces", "list"), id)
	require.Contains(t, ok("workspaces", "delete", id, "--yes", "--no-wait"), "closed")
	require.Contains(
		t, ok("workspaces", "delete", id, "--no-wait", "--json"), `"deleted": false`, "asked again it goes on",
	)
	require.NotContains(t, ok("workspaces", "list"), id)
	require.Contains(t, bad("workspaces", "update", id, "--name", "x"), "No workspace")
	require.Contains(t, bad("workspaces", "delete", uuid.NewString(), "--yes"), "No workspace")
}

func TestInvalidWorkspaceCommandsReportWhy(t *testing.T) {
	_, _, bad := commandLine(t)
	for want, args := range map[string][]string{
		"--name":     {"workspaces", "create"},
		"not be emp": {"workspaces", "create", "--name", "  "},
		"--plan":     {"workspaces", "create", "--name", "x", "--plan", "gold"},
		"--mode":     {"workspaces", "create", "--name", "x", "--mode", "prod"},
		"enterprise": {"workspaces", "create", "--name", "x", "--plan", "pro", "--per-minute", "5"},
		"above zero": {"workspaces", "create", "--name", "x", "--plan", "enterprise", "--per-minute", "0"},
		"2147483647": {"workspaces", "create", "--name", "x", "--plan", "enterprise", "--per-minute", "2147483647"},
		"below 2147": {"workspaces", "update", uuid.NewString(), "--per-day", "3000000000"},
		"negative":   {"workspaces", "update", uuid.NewString(), "--per-minute=-1"},
		"allowed":    {"workspaces", "update", uuid.NewString(), "--plan", "gold"},
		"36500":      {"workspaces", "update", uuid.NewString(), "--retention-days", "36501"},
		"or none":    {"workspaces", "update", uuid.NewString(), "--retention-days", "9223372036854775808"},
		"of days":    {"workspaces", "update", uuid.NewString(), "--retention-days", "0"},
	} {
		require.Contains(t, bad(args...), want)
	}
}

func TestNamesCannotDriveTheTerminal(t *testing.T) {
	db, ok, _ := commandLine(t)
	_, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "\x1b[2Jx\u202e\tz", Plan: "pro", Mode: "live"})
	require.NoError(t, err)
	list := ok("workspaces", "list")
	require.NotContains(t, list, "\x1b")
	require.NotContains(t, list, "\u202e")
}
