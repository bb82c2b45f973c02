package embed

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAnswer verifies that any response of an embedder is decoded to a vector of length one
// for each text, or to an error of bounded size.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"index":0,"embedding":[3,4]},{"index":1,"embedding":[0,-1e-3]}]}`,
		`{"data":[{"index":1,"embedding":[1,1]},{"index":1,"embedding":[1,1]}]}`,
		`{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1e308,1e308]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":null}]}`, `{"data":[{"index":-1}]}`,
		`{"error":{"type":"insufficient_quota","code":"x y"}}`, `{}`, ``, `[`, `{"data":[{"index":0,"embedding":[1e400,1]}]}`,
	} {
		f.Add([]byte(body), 200)
		f.Add([]byte(body), 429)
	}
	f.Fuzz(func(t *testing.T, body []byte, _ int) {
		vectors, err := decodeVectors(body, 2, 2)
		if err != nil {
			require.Less(t, len(err.Error()), 1000)
		} else {
			require.Len(t, vectors, 2)
			for _, v := range vectors {
				if v == nil {
					continue // a text without any meaning
				}
				require.Len(t, v, 2)
				require.InDelta(t, 1, math.Hypot(float64(v[0]), float64(v[1])), 1e-3)
			}
		}
	})
}
