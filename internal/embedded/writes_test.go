package embedded_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/testenv"
)

// writes.py serializes the writes of milvus-lite. Without it, concurrent threads lose each other's
// rows, in the process and after a restart.
func TestWritesOfTheEmbeddedMilvusDoNotLoseEachOther(t *testing.T) {
	checkInPython(t, "milvus", "testdata/writes_check.py")
}

// Without writes.py, a collection whose index was being written when the process died cannot be
// loaded again.
func TestAnInterruptedIndexOfTheEmbeddedMilvusIsBuiltAgain(t *testing.T) {
	checkInPython(t, "milvus", "testdata/index_check.py")
}

// Without writes.py, a collection that is created twice concurrently fails halfway, one that is
// opened twice concurrently exists twice, and the files of a partial one block its creation
// permanently.
func TestCollectionsOfTheEmbeddedMilvusAreMadeAndOpenedOnce(t *testing.T) {
	checkInPython(t, "milvus", "testdata/collections_check.py")
}

// checkInPython runs a check of an engine's Python modules, with a new folder and further arguments.
func checkInPython(t *testing.T, engine, check string, arguments ...string) {
	t.Helper()
	testenv.RequireEngines(t)
	packages, err := embedded.Install(t.Context(), nil)
	require.NoError(t, err)
	modules, err := filepath.Abs(filepath.Join("assets", engine))
	require.NoError(t, err)
	args := append([]string{check, filepath.Join(t.TempDir(), engine)}, arguments...)
	cmd := exec.CommandContext(t.Context(), packages.Python(), args...)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	t.Logf("%v: %s", args, out)
}
