package ports

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNobodyIsGivenAnAddressThatAnotherHas(t *testing.T) {
	given := map[string]bool{}
	var release []func()
	for range (last - first) / 2 {
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
