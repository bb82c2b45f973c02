package testenv

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/livegraph/livegraph/internal/embedded"
)

// notRunFile names the file to which what did not run is added, so that anyone who
// runs many test binaries can say so at the end.
const notRunFile = "LIVEGRAPH_TEST_NOT_RUN"

// requireApache returns the jars of Apache Kafka. Where they cannot be had the test
// is skipped, which is said aloud; with CI=true it fails.
func requireApache(t testing.TB) *embedded.Jars {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Apache Kafka")
	}
	RequireFull(t)
	jars, err := apachePackages()
	if err == nil {
		return jars
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("testenv: this test was to run on Apache Kafka too: %v", err)
	}
	sayNotRunOnApache()
	t.Skipf("not run on Apache Kafka: %v", err)
	return nil
}

// NotRun skips a test that the machine lacks something for, which is said aloud; with
// CI=true it fails. what names the tests and, in brackets, what is missing.
func NotRun(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("testenv: not run: %s", what)
	}
	sayNotRun("NOT RUN: " + what + "\n")
	t.Skipf("not run: %s", what)
}

// sayNotRunOnApache says once a binary that tests were not run on Apache Kafka.
var sayNotRunOnApache = sync.OnceFunc(func() {
	_, reason := apachePackages()
	sayNotRun(fmt.Sprintf(
		"NOT RUN: the tests of %s on Apache Kafka (%v). They ran on kfake alone.\n", binaryName(), reason,
	))
})

// sayNotRun reports what did not run. `go test` shows nothing of what a package prints
// that passes, so it is said to the go command's own standard error.
func sayNotRun(line string) {
	_, _ = io.WriteString(os.Stderr, line)
	if parent, err := openParentStderr(); err == nil {
		_, _ = io.WriteString(parent, line)
		_ = parent.Close()
	}
	if path := os.Getenv(notRunFile); path != "" {
		if file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
			_, _ = io.WriteString(file, line)
			_ = file.Close()
		}
	}
}

// binaryName is the test's package, by its folder.
func binaryName() string {
	dir, err := os.Getwd()
	if err != nil {
		return filepath.Base(os.Args[0])
	}
	return filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
}

// openParentStderr opens the standard error of the process that started us, if that
// is a go command and it writes to a terminal or a pipe. (In a file we would write
// over what is there.)
func openParentStderr() (*os.File, error) {
	proc := fmt.Sprintf("/proc/%d/", os.Getppid())
	name, err := os.ReadFile(proc + "comm")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(name)) != "go" {
		return nil, fmt.Errorf("%s is not the go command", name)
	}
	info, err := os.Stat(proc + "fd/2")
	if err != nil {
		return nil, err
	}
	if info.Mode()&(os.ModeCharDevice|os.ModeNamedPipe) == 0 {
		return nil, fmt.Errorf("%s is neither a terminal nor a pipe", proc+"fd/2")
	}
	return os.OpenFile(proc+"fd/2", os.O_WRONLY|os.O_APPEND, 0)
}
