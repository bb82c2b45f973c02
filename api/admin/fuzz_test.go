package admin

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzSessionCookie checks that only 32 bytes in the encoding of newSessionText are accepted,
// and that a CSRF token is valid for its own session only.
func FuzzSessionCookie(f *testing.F) {
	good := newSessionText()
	for _, header := range []string{
		"", cookieName + "=" + good, cookieName + "=" + good + "; " + cookieName + "=" + good,
		cookieName + "=\"" + good + "\"", secureCookieName + "=" + good, cookieName + "=" + good + "=", "a=b;;;=",
		cookieName + "=\xff",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Cookie": {header}}}
		text, ok := sessionText(r)
		if !ok {
			return
		}
		require.Len(t, text, len(good))
		require.Equal(t, text == good, csrfToken(text) == csrfToken(good), "a token is of one session")
	})
}
