package embeddings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnIndexIsGoneThroughWhenItStaysApart(t *testing.T) {
	type look struct {
		given, held int64
		due         bool
	}
	for name, looks := range map[string][]look{
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
			for i, l := range looks {
				require.Equal(t, l.due, d.note(l.given, l.held), "look %d", i+1)
			}
		})
	}
}

func TestWhatIsNotFoundIsLookedForEverMoreSeldom(t *testing.T) {
	var d difference
	until := func() (looks int) {
		for looks = 1; !d.note(5, 4); looks++ {
			require.Less(t, looks, 1000)
		}
		return looks
	}
	require.Equal(t, looksStill, until())
	d.through(0)
	require.Equal(t, 2*looksStill, until())
	d.through(0)
	require.Equal(t, 4*looksStill, until())
	for range 20 {
		d.through(0)
	}
	require.Equal(t, waitMost*looksStill, until())
	d.through(1)
	require.Equal(t, looksStill, until())
}
