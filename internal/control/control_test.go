package control_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/control"
)

func TestARunningServerIsFound(t *testing.T) {
	dir := t.TempDir()
	_, err := control.Read(dir)
	require.ErrorIs(t, err, control.ErrNotRunning)

	want := control.Server{PID: os.Getpid(), URL: "http://127.0.0.1:1", PostgresURL: "postgres://u:p@h/db"}
	require.NoError(t, control.Write(dir, want))
	got, err := control.Read(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)

	info, err := os.Stat(filepath.Join(dir, "control.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, control.Remove(dir))
	require.NoError(t, control.Remove(dir), "removing twice is no error")
	_, err = control.Read(dir)
	require.ErrorIs(t, err, control.ErrNotRunning)
}

func TestTheNoteOfAKilledServerCountsAsNotRunning(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "true")
	require.NoError(t, cmd.Run())
	dir := t.TempDir()
	require.NoError(t, control.Write(dir, control.Server{PID: cmd.Process.Pid}))
	_, err := control.Read(dir)
	require.ErrorIs(t, err, control.ErrNotRunning)
}

func TestABrokenNoteIsAnErrorNotAServer(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "control.json"), []byte("{"), 0o600))
	_, err := control.Read(dir)
	require.Error(t, err)
	require.NotErrorIs(t, err, control.ErrNotRunning)
}
