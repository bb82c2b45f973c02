package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// abortTimeout is the timeout for stopping engines after another one failed to start.
const abortTimeout = 20 * time.Second

// dataLock is held by the server that uses a data directory. The kernel releases it
// when the process ends, so a crash leaves nothing to clean up.
type dataLock struct{ file *os.File }

// lockDataDir locks the data directory. Its error names the process that holds the lock.
func lockDataDir(dir string) (*dataLock, error) {
	path := filepath.Join(dir, "livegraph.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := "another process"
		if raw, err := io.ReadAll(io.LimitReader(file, 32)); err == nil && len(raw) > 0 {
			holder = "process " + strings.TrimSpace(string(raw))
		}
		err = fmt.Errorf(
			"the data directory %s is in use by a livegraph server, %s: stop that one, or choose another with --data-dir", dir,
			holder,
		)
		return nil, errors.Join(err, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking the data directory: %w", err), file.Close())
	}
	return &dataLock{file}, supervisor.WritePID(file, os.Getpid())
}

func (l *dataLock) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
