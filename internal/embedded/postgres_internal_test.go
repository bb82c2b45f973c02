package embedded

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPostgresCachesAShareOfTheMachine(t *testing.T) {
	for machine, want := range map[int64]int64{
		512 << 20: 128 << 20,
		4 << 30:   4 << 30 / 12,
		24 << 30:  2 << 30,
		512 << 30: 2 << 30,
	} {
		require.Equal(t, want, postgresCache(machine), "%d MiB", machine>>20)
	}
}
