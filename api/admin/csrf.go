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

// tokenHeader contains the session's token in requests that change something.
const tokenHeader = "X-CSRF-Token" //nolint:gosec // G101: the name of a header

// newOriginCheck returns a check that rejects requests of other origins, by Sec-Fetch-Site
// and Origin if the browser sends them. The origin of publicURL is accepted too, because a
// proxy may change the Host header.
func newOriginCheck(publicURL string) (*http.CrossOriginProtection, error) {
	check := http.NewCrossOriginProtection()
	if publicURL == "" {
		return check, nil
	}
	u, err := url.Parse(publicURL)
	if err == nil {
		err = check.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("the public address %q: %w", publicURL, err)
	}
	return check, nil
}

// Guard returns a Forbidden error for a request that may change something and comes from
// another site or lacks its session's token. A login has no session yet, but must not come
// from another site either, which could log a user in as another operator.
func (a *Admin) Guard(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if err := a.originCheck.Check(r); err != nil {
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

// csrfToken returns the token of a session. It is derived from the cookie's value, so it is not
// stored. Scripts cannot read the cookie, and the token does not reveal it.
func csrfToken(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	_, _ = mac.Write([]byte("livegraph csrf")) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
