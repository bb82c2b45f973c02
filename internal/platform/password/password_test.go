package password_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/password"
)

func TestOnlyThePasswordMatchesItsHash(t *testing.T) {
	text := password.Generate()
	require.Len(t, text, 24)
	stored := password.Hash(text)
	require.True(t, password.Matches(stored, text))
	require.False(t, password.Matches(stored, text+"x"))
	require.False(t, password.Matches(stored, ""))
	require.NotEqual(t, stored, password.Hash(text), "each hash has its own salt")
	require.NotContains(t, stored, text)
}

func TestWhatIsNoHashMatchesNothing(t *testing.T) {
	stored := password.Hash("secret")
	for _, bad := range []string{"", "secret", "$argon2id$", strings.Replace(stored, "argon2id", "argon2i", 1),
		strings.Replace(stored, "t=2", "t=0", 1), strings.Replace(stored, "m=19456", "m=99999999", 1),
		strings.Replace(stored, "p=1", "p=0", 1), stored[:len(stored)-2], stored + "$"} {
		require.False(t, password.Matches(bad, "secret"), bad)
	}
}
