package runfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/runfile"
)

func TestARunningServerIsFound(t *testing.T) {
	dir := t.TempDir()
	_, err := runfile.Read(dir)
	require.ErrorIs(t, err, runfile.ErrNotRunning)

	want := runfile.Server{PID: os.Getpid(), URL: "http://127.0.0.1:1", PostgresURL: "postgres://u:p@h/db"}
	note, err := runfile.Write(dir, want)
	require.NoError(t, err)
	for range 2 { // reading does not affect the lock
		got, err := runfile.Read(dir)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	info, err := os.Stat(filepath.Join(dir, "control.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, note.Remove(dir))
	_, err = runfile.Read(dir)
	require.ErrorIs(t, err, runfile.ErrNotRunning)
	require.NoFileExists(t, filepath.Join(dir, "control.json"))
}

// A killed server leaves its run file, and its process id may still exist: as a zombie
// that has not been waited for, or as another process, such as 1 in a container.
func TestTheNoteOfAKilledServerCountsAsNotRunning(t *testing.T) {
	dir := t.TempDir()
	note := fmt.Sprintf(`{"pid": %d, "url": "http://127.0.0.1:1"}`, os.Getpid())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "control.json"), []byte(note), 0o600))
	_, err := runfile.Read(dir)
	require.ErrorIs(t, err, runfile.ErrNotRunning)
}

func TestALateRemoveLeavesTheNoteOfTheNextServer(t *testing.T) {
	dir := t.TempDir()
	first, err := runfile.Write(dir, runfile.Server{URL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	second, err := runfile.Write(dir, runfile.Server{URL: "http://127.0.0.1:2"})
	require.NoError(t, err)
	require.NoError(t, first.Remove(dir))
	got, err := runfile.Read(dir)
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:2", got.URL)
	require.NoError(t, second.Remove(dir))
}
