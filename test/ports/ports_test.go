package ports

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNobodyIsGivenAnAddressThatAnotherHas(t *testing.T) {
	given := map[string]bool{}
	var release []func()
	for range 500 { // of 5000: by chance alone, some would come twice
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
