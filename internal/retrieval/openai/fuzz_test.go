package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzStatusFault verifies that any response with an error becomes a fault of bounded size, whose text has nothing of
// the response but its status and identifiers.
func FuzzStatusFault(f *testing.F) {
	for _, body := range []string{
		`{"error":{"type":"insufficient_quota","code":"x y"}}`, `{"error":{"type":7,"code":"invalid_api_key"}}`, `{}`, ``,
		`[`, `{"error":"TENANT"}`, `{"error":{"code":"forge\nlog"}}`,
	} {
		f.Add([]byte(body), 429)
		f.Add([]byte(body), 400)
		f.Add([]byte(body), 302)
	}
	c, err := New(Options{Name: "the server", URL: "https://a.example/v1"})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		err := c.statusFault(&http.Response{
			StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body))),
		})
		require.NotEqual(t, fault.Internal, fault.KindOf(err))
		require.Less(t, len(err.Error()), 300)
		require.NotContains(t, err.Error(), "\n")
	})
}
