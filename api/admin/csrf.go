package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// tokenHeader is where requests that change something carry the session's token.
const tokenHeader = "X-CSRF-Token" //nolint:gosec // G101: the name of a header

// ownSites tells requests of the page's own origin from those of other sites, by
// Sec-Fetch-Site and Origin, where a browser sends them. The origin of publicURL is the
// page's own as well: a proxy there may name another host to us.
func ownSites(publicURL string) (*http.CrossOriginProtection, error) {
	sites := http.NewCrossOriginProtection()
	if publicURL == "" {
		return sites, nil
	}
	u, err := url.Parse(publicURL)
	if err == nil {
		err = sites.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("the public address %q: %w", publicURL, err)
	}
	return sites, nil
}

// Guard refuses, as Forbidden, a request that may change something and comes from
// another site, or does not carry its session's token. A login has no session yet; it
// must come from here all the same, so that nobody is logged in as somebody else.
func (a *Admin) Guard(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if err := a.sites.Check(r); err != nil {
		return fault.New(fault.Forbidden, "The request comes from another site").With("field", "Origin").Because(err)
	}
	if r.Method == http.MethodPost && r.URL.Path == sessionPath {
		return nil
	}
	text, ok := sessionText(r)
	values := r.Header.Values(tokenHeader)
	if !ok || len(values) != 1 || !hmac.Equal([]byte(values[0]), []byte(csrfToken(text))) {
		return fault.Field(fault.Forbidden, tokenHeader, "must be the token that the session's answer has")
	}
	return nil
}

// csrfToken returns the token of a session. It follows from what the cookie holds, which
// no script can read and which cannot be found out from it; so it need not be kept.
func csrfToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	_, _ = mac.Write([]byte("livegraph csrf")) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
