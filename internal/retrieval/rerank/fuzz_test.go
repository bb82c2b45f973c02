package rerank

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzScores checks that any response is refused or has a finite score for each text, and that an error quotes
// nothing of it.
func FuzzScores(f *testing.F) {
	for _, body := range []string{
		`{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":-1e300}]}`,
		`{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}`,
		`{"results":[{"index":2,"relevance_score":1e999},{"relevance_score":null}]}`, `[]`, `{"results":null}`, `{`,
		`{"results":[{"index":0,"relevance_score":1,"document":"canaryword"},{"index":9,"relevance_score":1}]}`,
	} {
		f.Add([]byte(body), 2)
	}
	f.Fuzz(func(t *testing.T, body []byte, texts int) {
		texts = max(0, min(texts, 100))
		scores, err := decodeScores(body, texts)
		if err != nil {
			require.Nil(t, scores)
			require.False(t, strings.Contains(err.Error(), "canaryword"))
			return
		}
		require.Len(t, scores, texts)
		for _, score := range scores {
			require.False(t, math.IsNaN(score) || math.IsInf(score, 0))
		}
	})
}
