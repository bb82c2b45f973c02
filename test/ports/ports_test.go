package ports

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFreeReturnsNoAddressTwice(t *testing.T) {
	given := map[string]bool{}
	var release []func()
	for range 500 { // of 5000: random choice alone would repeat some
		address, free, err := Free()
		require.NoError(t, err)
		require.False(t, given[address], address)
		given[address] = true
		release = append(release, free)
	}
	for _, free := range release {
		free()
	}
}
