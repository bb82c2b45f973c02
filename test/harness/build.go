package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/test/testenv"
)

// Build compiles the binary and returns its path. All test binaries share the file, because linking takes
// five seconds of processor time, and go build does not link again what has not changed. If GOCOVERDIR is set, its
// processes write there which statements they execute.
func Build() (binary string, err error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "bin", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := testenv.LockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unix.Close(lock)) }() // which unlocks
	binary = filepath.Join(dir, "livegraph")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", binary)
	if os.Getenv("GOCOVERDIR") != "" {
		build.Args = append(build.Args, "-cover")
	}
	build.Args = append(build.Args, "github.com/livegraph/livegraph/cmd/livegraph")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building the binary: %w", err)
	}
	return binary, nil
}

// Main is the TestMain of tests of the binary: it builds the binary, sets its path, and runs the tests.
func Main(m *testing.M, binary *string) {
	path, err := Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*binary = path
	m.Run() // the process exits with its result
}
