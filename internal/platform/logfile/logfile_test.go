package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	log, err := Open(path)
	require.NoError(t, err)
	line := strings.Repeat("x", 1<<20-1) + "\n"
	for range 3 * maxBytes / len(line) {
		_, err := log.Write([]byte(line))
		require.NoError(t, err)
	}
	_, err = log.Write([]byte("the last line\n"))
	require.NoError(t, err)
	require.Contains(t, log.Tail(100), "the last line")
	require.NoError(t, log.Close())
	_, err = log.Write([]byte("after the end\n"))
	require.NoError(t, err, "an engine must not stop for its log")

	var total int64
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		total += info.Size()
	}
	require.LessOrEqual(t, total, int64(2*maxBytes))
}
