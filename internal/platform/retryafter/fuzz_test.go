package retryafter_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/retryafter"
)

// FuzzOf checks that the duration is never negative.
func FuzzOf(f *testing.F) {
	for _, text := range []string{
		"", "7", "-1", "99999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.GreaterOrEqual(t, retryafter.Parse(http.Header{"Retry-After": {text}}), time.Duration(0))
	})
}
