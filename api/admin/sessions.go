package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Names of the session's cookie. A browser accepts one with the prefix __Host- only if it is
// Secure, for all paths and without a domain, so that no other host can set it.
const (
	cookieName       = "livegraph_session"
	secureCookieName = "__Host-" + cookieName
	sessionBytes     = 32
)

// sessionText returns the value of the session cookie. It returns false if there are several,
// because it is unknown which one is valid.
func sessionText(r *http.Request) (string, bool) {
	name := cookieName
	if request.ClientOf(r.Context()).Secure {
		name = secureCookieName
	}
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 {
		return "", false
	}
	text := cookies[0].Value
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	return text, err == nil && len(bytes) == sessionBytes
}

// newSessionText generates the value of a session cookie: 32 random bytes in base64.
func newSessionText() string {
	var bytes [sessionBytes]byte
	_, _ = rand.Read(bytes[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}

// setCookie sets the session cookie, or deletes it if text is empty.
func (a *Admin) setCookie(w http.ResponseWriter, r *http.Request, text string) {
	cookie := http.Cookie{ //nolint:gosec // G124: Secure is set below, where the connection is
		Name: cookieName, Value: text, Path: uiPath, MaxAge: int(a.deps.Age / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if text == "" {
		cookie.MaxAge = -1
	}
	if request.ClientOf(r.Context()).Secure {
		cookie.Name, cookie.Path, cookie.Secure = secureCookieName, "/", true
	}
	http.SetCookie(w, &cookie)
}

// backgroundHeader marks requests that the UI repeats while the user is inactive.
const backgroundHeader = "X-Livegraph-Background"

// Session returns the operator of a request's session and, unless the request is a background
// request, restarts the session's idle timeout. It returns an Unauthenticated error if there
// is no session.
func (a *Admin) Session(r *http.Request) (*request.Operator, error) {
	return a.sessionOf(r, !inBackground(r))
}

// inBackground reports whether a request was not caused by the user. Such requests do not
// restart the idle timeout, otherwise an open page would never be logged out. They include
// streams, which the browser reconnects.
func inBackground(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return r.Header.Get(backgroundHeader) != "" || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// Recheck returns an Unauthenticated error if the session has ended since the request began.
func (a *Admin) Recheck(r *http.Request) error {
	_, err := a.sessionOf(r, false)
	return err
}

func (a *Admin) sessionOf(r *http.Request, touch bool) (*request.Operator, error) {
	text, ok := sessionText(r)
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "Unauthorized")
	}
	s, err := a.deps.Operators.OperatorSession(r.Context(), sha256.Sum256([]byte(text)), a.deps.Idle, touch)
	if err != nil {
		return nil, err
	}
	return &request.Operator{ID: s.Operator, Name: s.OperatorName, SessionEnds: s.ExpiresAt}, nil
}

// sessionAnswer is the session in responses to the UI.
type sessionAnswer struct {
	Operator  operatorName `json:"operator"`
	CSRFToken string       `json:"csrfToken"`
	ExpiresAt time.Time    `json:"expiresAt"` // if no request is made before
}

type operatorName struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

func (a *Admin) answerSession(w http.ResponseWriter, r *http.Request, o *request.Operator, text string) {
	reply.Data(w, r, http.StatusOK, sessionAnswer{
		Operator: operatorName{ID: o.ID, Name: o.Name}, CSRFToken: csrfToken(text), ExpiresAt: o.SessionEnds,
	})
}

// session returns the session of the request.
func (a *Admin) session(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	text, _ := sessionText(r) // checked by Session
	a.answerSession(w, r, request.OperatorOf(r.Context()), text)
	return nil
}

// logout ends the session.
func (a *Admin) logout(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	text, _ := sessionText(r)
	if err := a.deps.Operators.EndOperatorSession(r.Context(), sha256.Sum256([]byte(text))); err != nil {
		return err
	}
	a.setCookie(w, r, "")
	reply.NoContent(w)
	return nil
}
