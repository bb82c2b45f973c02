package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachPlantedBugStillApplies finds patches that no longer apply after a change of their files,
// without the long run.
func TestEachPlantedBugStillApplies(t *testing.T) {
	t.Chdir("../../..")
	patches, err := filepath.Glob("test/chaos/mutants/patches/*.patch")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(patches), 15)
	for _, path := range patches {
		name := strings.TrimSuffix(filepath.Base(path), ".patch")
		t.Run(name, func(t *testing.T) {
			p, err := readPatch(name, path)
			require.NoError(t, err)
			dir := t.TempDir()
			_, err = p.overlay(t.Context(), path, dir)
			require.NoError(t, err)
			for _, file := range p.files {
				before, err := os.ReadFile(file)
				require.NoError(t, err)
				after, err := os.ReadFile(filepath.Join(dir, file))
				require.NoError(t, err)
				require.NotEqual(t, string(before), string(after))
			}
		})
	}
}

func TestAPatchThatDoesNotApplyIsAnError(t *testing.T) {
	t.Chdir("../../..")
	dir := t.TempDir()
	path := filepath.Join(dir, "old.patch")
	require.NoError(t, os.WriteFile(path, []byte("Bug: b\nInvariant: 1\nFaults: kill/api\nCount: 1\n\n"+
		"diff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n"+
		"@@ -1 +1 @@\n-module somewhere/else\n+module nowhere\n"), 0o600))
	p, err := readPatch("old", path)
	require.NoError(t, err)
	_, err = p.overlay(t.Context(), path, t.TempDir())
	require.ErrorContains(t, err, "does not apply any more")
}

func TestTheTableIsUpdated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(
		path,
		[]byte(
			"before\n"+
				tableBegins+"\n"+tableHeader+
				"| x | 1 | old | | 1 |\n| y | 2 | kept | | 1 |\n| gone | 3 | | | 1 |\n"+tableEnds+"\nafter\n",
		),
		0o600,
	))
	x := result{
		patch:    patch{bug: "x", invariant: "1", faults: "kill/api,kill/kafka"},
		caughtBy: "faults", found: []int{1, 5}, what: "y",
	}
	require.NoError(t, write(path, []string{"x", "y", "never tried"}, []result{x}))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(
		t,
		"before\n"+
			tableBegins+
			"\n"+
			tableHeader+
			"| x | 1 | faults `kill/api`, `kill/kafka`; broken: 1, 5 | y | 0 |\n| y | 2 | kept | | 1 |\n"+tableEnds+"\nafter\n",
		string(raw),
	)
	require.Error(t, write(filepath.Join("..", "..", "..", "go.mod"), nil, nil))
}
