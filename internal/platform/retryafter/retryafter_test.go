package retryafter_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/retryafter"
)

func TestSecondsAndDatesAreReadAndNothingElse(t *testing.T) {
	h := http.Header{}
	require.Zero(t, retryafter.Parse(h))
	h.Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
	require.InDelta(t, time.Hour, retryafter.Parse(h), float64(time.Minute))
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "-5": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		h.Set("Retry-After", text)
		require.Equal(t, want, retryafter.Parse(h), text)
	}
}
