package testenv

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// notRunFile is the environment variable with the file to which reports of tests that did
// not run are appended, so that a caller of many test binaries can print them at the end.
const notRunFile = "LIVEGRAPH_TEST_NOT_RUN"

// reported contains what was reported as not run.
var reported sync.Map

// SkipMissing skips a test for which the machine lacks a requirement, and reports once that it is not
// run; with CI=true it fails the test. what names the tests and, in brackets, the requirement.
func SkipMissing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("testenv: not run: %s", what)
	}
	if _, again := reported.LoadOrStore(what, true); !again {
		reportNotRun("NOT RUN: " + what + "\n")
	}
	t.Skipf("not run: %s", what)
}

// reportNotRun reports tests that did not run. `go test` does not show the output of a package
// that passes, so the report is also written to the standard error of the go command.
func reportNotRun(line string) {
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

// BinaryName returns the last two elements of the test package's folder.
func BinaryName() string {
	dir, err := os.Getwd()
	if err != nil {
		return filepath.Base(os.Args[0])
	}
	return filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
}

// openParentStderr opens the standard error of the parent process if that is a go command
// and its standard error is a terminal or a pipe. (Writing to a file would overwrite its
// content.)
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
