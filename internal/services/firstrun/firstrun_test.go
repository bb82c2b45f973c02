package firstrun_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/services/firstrun"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
)

const url = "http://127.0.0.1:8080"

func open(t *testing.T) *access.Store {
	t.Helper()
	db, err := stores.Open(t.Context(), testenv.Postgres(t), 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	return db.Access
}

func TestTheFirstStartSetsUpAndTheNextDoesNot(t *testing.T) {
	db, dir := open(t), t.TempDir()
	record, created, err := firstrun.Ensure(t.Context(), db, dir, url)
	require.NoError(t, err)
	require.True(t, created)

	stored, err := firstrun.Read(dir)
	require.NoError(t, err)
	require.Equal(t, record, stored)
	info, err := os.Stat(firstrun.Path(dir))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	key, err := apikey.Parse(record.AdminKey)
	require.NoError(t, err)
	credential, _, err := db.CredentialByHash(t.Context(), key.Hash())
	require.NoError(t, err)
	require.Equal(t, []string{"admin"}, credential.Scopes)
	require.Equal(t, "live", credential.Workspaces[record.WorkspaceID].Mode)
	workspaces, err := db.Workspaces(t.Context())
	require.NoError(t, err)
	require.Len(t, workspaces, 1)
	require.Equal(t, "default", workspaces[0].Name)
	perMinute, perDay := workspaces[0].RequestLimits()
	require.Nil(t, perMinute)
	require.Nil(t, perDay)

	_, created, err = firstrun.Ensure(t.Context(), db, dir, "http://127.0.0.1:9090")
	require.NoError(t, err)
	require.False(t, created)
	stored, err = firstrun.Read(dir)
	require.NoError(t, err)
	require.Equal(t, record.AdminKey, stored.AdminKey)
	require.Equal(t, "http://127.0.0.1:9090", stored.URL)

	require.NoError(t, os.Remove(firstrun.Path(dir)))
	_, created, err = firstrun.Ensure(t.Context(), db, dir, url)
	require.NoError(t, err)
	require.False(t, created, "a file that its owner removed does not come back")
	_, err = firstrun.Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestOneOfManyProcessesSetsUp(t *testing.T) {
	db := open(t)
	var setUps atomic.Int32
	var group errgroup.Group
	for range 4 {
		dir := t.TempDir()
		group.Go(func() error {
			_, first, err := firstrun.Ensure(t.Context(), db, dir, url)
			if first {
				setUps.Add(1)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, setUps.Load())
}

func TestACrashBetweenCommitAndFileLosesNoKey(t *testing.T) {
	db, dir := open(t), t.TempDir()
	record, _, err := firstrun.Ensure(t.Context(), db, dir, url)
	require.NoError(t, err)
	require.NoError(t, os.Rename(firstrun.Path(dir), firstrun.Path(dir)+".pending"))
	_, created, err := firstrun.Ensure(t.Context(), db, dir, url)
	require.NoError(t, err)
	require.False(t, created)
	stored, err := firstrun.Read(dir)
	require.NoError(t, err)
	require.Equal(t, record, stored)
}

func TestWhatACrashLeftBeforeTheCommitIsForgotten(t *testing.T) {
	for name, content := range map[string]string{
		"half a file":                 `{"adminKey":"lg_l`,
		"a key that was never stored": `{"adminKey":"` + apikey.Generate("live").Reveal() + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			db, dir := open(t), t.TempDir()
			pending := filepath.Join(dir, "first-run.json.pending")
			require.NoError(t, os.WriteFile(pending, []byte(content), 0o600))
			record, created, err := firstrun.Ensure(t.Context(), db, dir, url)
			require.NoError(t, err)
			require.True(t, created)
			require.NotEmpty(t, record.AdminKey)
			require.NoFileExists(t, pending)
		})
	}
}
