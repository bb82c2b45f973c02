package embedded_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/testenv"
)

// writes.py has milvus-lite write for one after the other: without it threads lose each
// other's rows, in the process itself and for the one after it.
func TestWritesOfTheEmbeddedMilvusDoNotLoseEachOther(t *testing.T) {
	checkInPython(t, "milvus", "testdata/writes_check.py")
}

// Without writes.py a collection whose index was being written when the process died is
// never loaded again.
func TestAnIndexOfTheEmbeddedMilvusThatWasCutOffIsMadeAnew(t *testing.T) {
	checkInPython(t, "milvus", "testdata/index_check.py")
}

// Without writes.py one that is made twice at once fails halfway, one that is opened twice at
// once is there twice, and the rest of one is in the way of another forever.
func TestCollectionsOfTheEmbeddedMilvusAreMadeAndOpenedOnce(t *testing.T) {
	checkInPython(t, "milvus", "testdata/collections_check.py")
}

// checkInPython runs a check of what is put into milvus-lite's place, on a new folder and
// with more arguments.
func checkInPython(t *testing.T, engine, check string, more ...string) {
	t.Helper()
	testenv.NeedsEngines(t)
	packages, err := embedded.Install(t.Context(), nil)
	require.NoError(t, err)
	modules, err := filepath.Abs(filepath.Join("assets", engine))
	require.NoError(t, err)
	args := append([]string{check, filepath.Join(t.TempDir(), engine)}, more...)
	cmd := exec.CommandContext(t.Context(), packages.Python(), args...)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	t.Logf("%v: %s", args, out)
}
