package promql_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyEqualValuesMayBeInAnyOrder(t *testing.T) {
	values := map[string][]point{"a": {{0, 1}}, "b": {{0, 1}}, "c": {{0, 2}}}
	expected := []string{"a", "b", "c"}
	require.True(t, sameOrder(expected, expected, values))
	require.True(t, sameOrder([]string{"b", "a", "c"}, expected, values))
	require.False(t, sameOrder([]string{"a", "c", "b"}, expected, values))
	require.False(t, sameOrder([]string{"d", "b", "c"}, expected, values))
}
