// Package fuzz tests that each fuzz target has a corpus in the repository, which every
// run of the tests uses, and that each corpus belongs to a target. test/fuzz.sh runs the
// targets.
package fuzz

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const repoRoot = "../.."

var target = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

// corpora returns the folders of corpora that targets require, and those that exist.
func corpora(t *testing.T) (wanted, found map[string]bool) {
	t.Helper()
	wanted, found = map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(repoRoot, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		skipped := strings.HasPrefix(name, ".") || name == "bin" || name == "data" || name == "node_modules"
		switch {
		case entry.IsDir() && path != repoRoot && skipped:
			return filepath.SkipDir
		case entry.IsDir() && strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "testdata/fuzz"):
			found[path] = true
		case strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range target.FindAllStringSubmatch(string(text), -1) {
				wanted[filepath.Join(filepath.Dir(path), "testdata", "fuzz", m[1])] = true
			}
		}
		return nil
	}))
	require.Greater(t, len(wanted), 40)
	return wanted, found
}

func TestEveryFuzzTargetHasACorpus(t *testing.T) {
	wanted, found := corpora(t)
	for folder := range wanted {
		require.True(t, found[folder], "%s: KEEP=20 test/fuzz.sh 1m %s", folder, filepath.Base(folder))
		inputs, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.NotEmpty(t, inputs, folder)
		for _, input := range inputs {
			info, err := input.Info()
			require.NoError(t, err)
			require.LessOrEqual(t, info.Size(), int64(64<<10), "%s/%s: each run of the tests tries it", folder, input.Name())
		}
	}
	for folder := range found {
		require.True(t, wanted[folder], "%s is of no target", folder)
	}
}
