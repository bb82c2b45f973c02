package promql

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// Parsing takes time that grows with the square of the nesting, so the length of queries is limited.
func TestNestedQueriesAreRefusedInTime(t *testing.T) {
	a := &api{parser: parser.NewParser(parser.Options{})}
	for _, text := range []string{
		strings.Repeat("-", maxQueryText-1) + "a",
		strings.Repeat("(", maxQueryText/2-1) + "a" + strings.Repeat(")", maxQueryText/2-1),
		"a" + strings.Repeat("+a", maxQueryText/2-1),
		strings.Repeat("abs(", maxQueryText/5) + "a" + strings.Repeat(")", maxQueryText/5),
	} {
		began := time.Now()
		_, err := a.parse(text)
		require.ErrorContains(t, err, "nested")
		require.Less(t, time.Since(began), 5*time.Second)
		t.Logf("%.10s %v", text, time.Since(began))
	}
}
