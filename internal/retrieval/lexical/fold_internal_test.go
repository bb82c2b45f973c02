package lexical

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASCIIWordsFoldAsAllOthers(t *testing.T) {
	for _, word := range []string{"a", "Pump", "PUMP17", strings.Repeat("Long", 40)} {
		plain, ok := foldASCII(word)
		require.True(t, ok)
		require.Equal(t, strings.ToLower(word), plain)
		require.Equal(t, plain+"e", fold(word+"É"), "a word with an accent is folded by the general path")
	}
}
