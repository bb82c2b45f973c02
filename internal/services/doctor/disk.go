package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// diskLeast is the free space below which the embedded engines are at risk,
// however large the disk.
const diskLeast = 2 << 30

func checkDisk(_ context.Context, t Target) []Result {
	if t.DataDir == "" {
		return nil
	}
	if _, err := os.Stat(t.DataDir); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is kept here
	}
	r := Result{Name: "disk", Status: OK, Address: t.DataDir}
	var stat unix.Statfs_t
	if err := unix.Statfs(t.DataDir, &stat); err != nil {
		return failed("disk", t.DataDir, err, "check the data directory")
	}
	free, total := int64(stat.Bavail)*stat.Bsize, int64(stat.Blocks)*stat.Bsize
	if used, err := usedBelow(t.DataDir); err == nil {
		r.DiskBytes = &used
	}
	r.Detail = fmt.Sprintf("%s of %s free", Size(free), Size(total))
	if free < diskLeast || float64(free) < diskNearly*float64(total) {
		r.warn("that is little", "free disk space, or move the data directory: engines stop when the disk is full")
	}
	return []Result{r}
}

// usedBelow sums what the files below dir take on disk. Files that come and go
// meanwhile do not matter.
func usedBelow(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it went away, or is not ours to read
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
			Detail: "holds the first admin key and the first operator's password in plain text",
			Advice: "put the key where you keep secrets, change the password on the administration page, then delete the file",
		},
	}
}

// Size is a number of bytes for people.
func Size(bytes int64) string {
	const unit = 1024
	value, name := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value < unit {
			break
		}
		value, name = value/unit, next
	}
	if name == "B" {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
