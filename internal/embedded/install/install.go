// Package install installs software that is not part of the binary into the user's cache: once per
// machine and user, shared by all processes, and named after its content, so that each version has
// its own folder.
//
// [PackageSet] installs Python packages. [Ensure] is for software of another kind.
package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CacheVariable is the environment variable with the folder to use instead of the user's cache.
const CacheVariable = "LIVEGRAPH_ENGINES_DIR"

const lockPoll = 200 * time.Millisecond

// Report receives the progress of an installation. The phases are "waiting", "installing", "ready"
// and "failed". percent is 0 to 100, or -1 if it is unknown. detail is a line for the user.
type Report func(phase string, percent int, detail string)

// CacheDir returns the folder of an installation. It is always a subfolder of the cache,
// never a folder that a user named, because an incomplete installation is removed.
func CacheDir(name string) (string, error) {
	base := os.Getenv(CacheVariable)
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the engines' packages: %w; set %s", err, CacheVariable)
		}
		base = filepath.Join(cache, "livegraph")
	}
	return filepath.Abs(filepath.Join(base, name))
}

// Ensure calls create to install into dir, unless complete reports that the installation is
// complete. Of concurrent processes, one installs and the others wait for it.
//
// create removes what an interrupted installation left in dir. Programs that it starts should inherit
// lock: if this process is killed, no other one starts before they have ended.
func Ensure(
	ctx context.Context, dir string, report Report, complete func() bool, create func(lock *os.File) error,
) error {
	if complete() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("making a folder for the engines' packages: %w; set %s to another", err, CacheVariable)
	}
	lock, err := acquireLock(ctx, dir+".lock", report)
	if err != nil {
		return err
	}
	defer lock.Close()
	if complete() { // another process created it meanwhile
		return nil
	}
	if err := create(lock); err != nil {
		report("failed", -1, err.Error())
		return err
	}
	if !complete() {
		return fmt.Errorf("the engines' packages were installed into %s but are not whole", dir)
	}
	report("ready", 100, dir)
	return nil
}

// acquireLock locks the lock file next to the folder, and waits for it if necessary.
func acquireLock(ctx context.Context, path string, report Report) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the engines' packages: %w; set %s to another folder", err, CacheVariable)
	}
	for waited := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking the engines' packages: %w", err), file.Close())
		}
		if !waited {
			report("waiting", -1, "another process installs the engines")
			waited = true
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(lockPoll):
		}
	}
}
