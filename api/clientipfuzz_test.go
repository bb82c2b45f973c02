package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// FuzzClientIP checks that the caller has an address for any X-Forwarded-For, and that it is
// the connection's if the peer is not a trusted proxy.
func FuzzClientIP(f *testing.F) {
	for _, text := range []string{
		"", "1.2.3.4", "1.2.3.4, 10.0.0.2", "::ffff:10.0.0.1", "fe80::1%eth0", "[::1]:80", ",,,", "unknown", "\x00",
	} {
		f.Add(text)
	}
	s, err := New(Deps{Config: config.API{TrustedProxies: []string{"10.0.0.0/8", "fd00::/8"}}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, forwarded string) {
		for peer, trusted := range map[string]bool{"10.0.0.1:1": true, "203.0.113.9:1": false, "[fd00::1]:1": true} {
			ip := s.clientIP(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {forwarded}}})
			require.True(t, ip.IsValid())
			if !trusted {
				require.Equal(t, "203.0.113.9", ip.String())
			}
		}
	})
}

// FuzzBearerKey checks that the key is a suffix of the header.
func FuzzBearerKey(f *testing.F) {
	for _, header := range []string{"", "Bearer x", "bearer   x y", "Bearer", "Basic x", "Bearer\tx", "\x00"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if text, ok := bearerKey(header); ok {
			require.Equal(t, text, header[len(header)-len(text):])
			require.NotEqual(t, " ", text[:min(len(text), 1)])
		}
	})
}
