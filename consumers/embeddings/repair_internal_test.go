package embeddings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnIndexIsGoneThroughWhenItStaysApart(t *testing.T) {
	type check struct {
		expected, stored int64
		due              bool
	}
	for name, checks := range map[string][]check{
		"equal":                      {{5, 5, false}, {5, 5, false}, {9, 9, false}},
		"for a moment":               {{5, 4, false}, {5, 5, false}, {5, 4, false}, {5, 5, false}},
		"still":                      {{5, 4, false}, {5, 4, true}},
		"under load":                 {{5, 4, false}, {7, 5, false}, {9, 6, false}, {9, 8, true}},
		"in turns":                   {{5, 4, false}, {5, 6, false}, {7, 6, false}, {7, 8, false}, {9, 8, false}},
		"in turns, then still":       {{5, 6, false}, {5, 4, false}, {5, 4, true}},
		"what came between ended it": {{5, 4, false}, {6, 6, false}, {5, 4, false}, {5, 4, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var d difference
			for i, c := range checks {
				require.Equal(t, c.due, d.observe(c.expected, c.stored), "check %d", i+1)
			}
		})
	}
}

func TestWhatIsNotFoundIsLookedForEverMoreSeldom(t *testing.T) {
	var d difference
	checksUntilDue := func() (count int) {
		for count = 1; !d.observe(5, 4); count++ {
			require.Less(t, count, 1000)
		}
		return count
	}
	require.Equal(t, stableChecks, checksUntilDue())
	d.reset(0)
	require.Equal(t, 2*stableChecks, checksUntilDue())
	d.reset(0)
	require.Equal(t, 4*stableChecks, checksUntilDue())
	for range 20 {
		d.reset(0)
	}
	require.Equal(t, maxBackoff*stableChecks, checksUntilDue())
	d.reset(1)
	require.Equal(t, stableChecks, checksUntilDue())
}
