package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder makes system calls and records them. The call named failAt fails and is not made.
type recorder struct {
	t      *testing.T
	path   string
	failAt string
	seen   []string
}

var errCrash = errors.New("the machine stopped")

func (r *recorder) step(name string, call func() error) error {
	if r.seen = append(r.seen, name); name == r.failAt {
		return errCrash
	}
	return call()
}

func (r *recorder) calls() calls {
	return calls{
		sync: func(f *os.File) error {
			content, err := os.ReadFile(f.Name())
			require.NoError(r.t, err)
			require.Equal(r.t, "new", string(content), "all was written before")
			require.NotEqual(r.t, r.path, f.Name(), "the file itself is not written to")
			return r.step("sync", f.Sync)
		},
		rename:  func(from, to string) error { return r.step("rename", func() error { return os.Rename(from, to) }) },
		syncDir: func(dir string) error { return r.step("syncDir", func() error { return SyncDir(dir) }) },
	}
}

func TestContentIsDurableBeforeTheNameIs(t *testing.T) {
	order := []string{"sync", "rename", "syncDir"}
	for _, fails := range append([]string{"", "fill"}, order...) {
		t.Run("fails at "+fails, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
			r := &recorder{t: t, path: path, failAt: fails}
			err := r.calls().write(path, 0o600, func(w io.Writer) error {
				if _, err := w.Write([]byte("new")); err != nil || fails == "fill" {
					return errors.Join(err, errCrash)
				}
				return nil
			})
			want := "new"
			if fails == "" {
				require.NoError(t, err)
				require.Equal(t, order, r.seen)
			} else {
				require.ErrorIs(t, err, errCrash)
				require.Equal(t, append([]string(nil), order[:slices.Index(order, fails)+1]...), r.seen)
			}
			if fails != "" && fails != "syncDir" {
				want = "old"
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, want, string(content))
			names, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, names, 1, "no other file stays")
		})
	}
}

func TestAFileHasItsModeAndContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	require.NoError(t, WriteFile(path, []byte("new"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(content))
	require.NoError(t, Rename(path, path+"2"))
	require.NoFileExists(t, path)
	require.Error(t, Rename(path, path+"2"))
	require.Error(t, WriteFile(filepath.Join(path, "x"), nil, 0o600))
	require.Error(t, SyncDir(path))
}
