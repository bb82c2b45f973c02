package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/platform/bytesize"
)

// minFreeDiskBytes is the free space below which to warn, independently of the size of
// the disk.
const minFreeDiskBytes = 2 << 30

func checkDisk(_ context.Context, t Target) []Result {
	if t.DataDir == "" {
		return nil
	}
	if _, err := os.Stat(t.DataDir); errors.Is(err, fs.ErrNotExist) {
		return nil // it is not in use
	}
	r := Result{Name: "disk", Status: OK, Address: t.DataDir}
	var stat unix.Statfs_t
	if err := unix.Statfs(t.DataDir, &stat); err != nil {
		return failed("disk", t.DataDir, err, "check the data directory")
	}
	free, total := int64(stat.Bavail)*stat.Bsize, int64(stat.Blocks)*stat.Bsize
	if used, err := dirSize(t.DataDir); err == nil {
		r.DiskBytes = &used
	}
	r.Detail = fmt.Sprintf("%s of %s free", bytesize.Format(free), bytesize.Format(total))
	if free < minFreeDiskBytes || float64(free) < minFreeDiskShare*float64(total) {
		r.warn("that is too little", "free disk space, or move the data directory: engines stop when the disk is full")
	}
	return []Result{r}
}

// dirSize returns the total size of the files below dir. It ignores files that disappear
// while it runs.
func dirSize(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it was removed, or is not readable
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

func checkFirstRun(_ context.Context, t Target) []Result {
	if t.DataDir == "" {
		return nil
	}
	path := filepath.Join(t.DataDir, "first-run.json")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []Result{
		{
			Name: "first-run.json", Status: Warning, Address: path,
			Detail: "contains the first admin key and the first operator's password in plain text",
			Advice: "put the key where you keep secrets, change the password in the admin UI, then delete the file",
		},
	}
}
