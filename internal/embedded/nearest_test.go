package embedded_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/testenv"
)

// nearest.py answers searches in milvus-lite's place, which must not be seen by what
// they find.
func TestSearchesOfTheEmbeddedMilvusFindWhatMilvusLiteFinds(t *testing.T) {
	testenv.NeedsEngines(t)
	packages, err := embedded.Install(t.Context(), nil)
	require.NoError(t, err)
	modules, err := filepath.Abs("assets/milvus")
	require.NoError(t, err)
	for _, seed := range []string{"1", "2"} {
		cmd := exec.CommandContext(t.Context(), packages.Python(), "testdata/nearest_check.py", filepath.Join(t.TempDir(), "milvus"), seed)
		cmd.Env = append(cmd.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "seed %s: %s", seed, out)
		t.Logf("seed %s: %s", seed, out)
	}
}
