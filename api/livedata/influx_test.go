package livedata

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAuthorization: whatever header a client of InfluxDB sends, the key is a part of it.
func FuzzAuthorization(f *testing.F) {
	for _, header := range []string{
		"", "Token ", "Token a:b:c", "token\tx", "Bearer  x",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass:word")), "Basic =",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("user")), "Basic \xff",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, keyOf := range []func(string) (string, bool){tokenKey, passwordKey} {
			text, ok := keyOf(header)
			require.True(t, !ok || len(text) <= len(header))
		}
	})
}
