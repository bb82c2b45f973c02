package promengine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Parsing takes time that grows with the square of the nesting, so the length of queries is limited.
func TestNestedQueriesAreRefusedInTime(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("-", MaxText-1) + "a",
		strings.Repeat("(", MaxText/2-1) + "a" + strings.Repeat(")", MaxText/2-1),
		"a" + strings.Repeat("+a", MaxText/2-1),
		strings.Repeat("abs(", MaxText/5) + "a" + strings.Repeat(")", MaxText/5),
	} {
		began := time.Now()
		_, err := Parse(text)
		require.ErrorContains(t, err, "nested")
		require.Less(t, time.Since(began), 5*time.Second)
		t.Logf("%.10s %v", text, time.Since(began))
	}
}
