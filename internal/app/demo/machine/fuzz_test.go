package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzLines: whatever the kernel or a process with an odd name writes, its line is read
// or passed over.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		"", "1 (a) b) (c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 1 2", "1 (", ")(",
		"   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1", "0: :: 01",
		"1: 0:FFFFFFFFF 0 0A 0 0 0 0 0 1",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, ok := parseStat(line); ok {
			require.NotEmpty(t, s.started)
		}
		if inode, _, ok := parseSocket(string(line)); ok {
			require.NotEmpty(t, inode)
		}
	})
}
