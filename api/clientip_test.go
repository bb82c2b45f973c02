package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func TestOnlyHeadersOfTrustedProxiesAreUsed(t *testing.T) {
	s, err := New(Deps{Config: config.API{TrustedProxies: []string{"10.0.0.0/8", "fd00::/8"}}})
	require.NoError(t, err)
	for _, c := range []struct{ peer, forwarded, want string }{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9"}, // forged by the caller
		{"10.0.0.1:1", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:1", "1.2.3.4, 198.51.100.1", "198.51.100.1"}, // the caller forged the first
		{"10.0.0.1:1", "198.51.100.1, 10.0.0.2", "198.51.100.1"},
		{"10.0.0.1:1", "nonsense, 10.0.0.2", "10.0.0.2"},
		{"10.0.0.1:1", "", "10.0.0.1"},
		{"[fd00::1]:1", "2001:db8::5", "2001:db8::5"},
		{"[::ffff:10.0.0.1]:1", "198.51.100.1", "198.51.100.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		require.Equal(t, c.want, s.clientIP(r).String(), "%+v", c)
	}
	require.False(t, s.clientIP(&http.Request{RemoteAddr: "@"}).IsValid())
}
