// Package fuzz tests that the fuzz targets are complete in what they consist of: each
// has a corpus in the repository, which every run of the tests tries, and no corpus is
// left of a target that is gone. test/fuzz.sh runs them.
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

const top = "../.."

var target = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

// targets returns the folder of each target's corpus, and whether it is there.
func targets(t *testing.T) (wanted, found map[string]bool) {
	t.Helper()
	wanted, found = map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		other := strings.HasPrefix(name, ".") || name == "bin" || name == "data" || name == "node_modules"
		switch {
		case entry.IsDir() && path != top && other:
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
	wanted, found := targets(t)
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
