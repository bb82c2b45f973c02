package admin

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// logins limits logins.
type logins struct {
	byAddress *ratelimit.Counter
	byName    *ratelimit.Counter
	// reserved counts by name the attempts from the network of the name's last login after
	// the limit of the address is reached.
	reserved *ratelimit.Counter
	hashing  *hashing
	// dummyHash is compared with the password if the name is unknown, so that the login takes
	// as long as for a known name.
	dummyHash string
}

func newLogins(a Attempts) logins {
	return logins{
		byAddress: ratelimit.NewCounter(cmp.Or(a.PerAddress, perAddress), cmp.Or(a.AddressWindow, addressWindow)),
		byName:    ratelimit.NewCounter(cmp.Or(a.PerName, perName), cmp.Or(a.NameWindow, nameWindow)),
		reserved:  ratelimit.NewCounter(cmp.Or(a.Reserved, reservedAttempts), cmp.Or(a.AddressWindow, addressWindow)),
		hashing:   newHashing(),
		dummyHash: password.Hash(password.Generate()),
	}
}

// Results of logins.
const (
	loginSucceeded = "succeeded"
	loginRefused   = "refused"
	loginLimited   = "limited"
	loginFailed    = "failed"
)

func newLoginCounter(registerer prometheus.Registerer) *prometheus.CounterVec {
	counter := promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_operator_logins_total",
		Help: "Total number of logins to the admin UI by result: succeeded, refused (wrong name or password), limited " +
			"(429, too many failed logins), failed (error of a store, or too many concurrent logins).",
	}, []string{"result"})
	for _, result := range []string{loginSucceeded, loginRefused, loginLimited, loginFailed} {
		counter.WithLabelValues(result)
	}
	return counter
}

// loginResult returns the result of a login that returned err.
func loginResult(err error) string {
	switch {
	case err == nil:
		return loginSucceeded
	case fault.Is(err, fault.Unauthenticated):
		return loginRefused
	case fault.Is(err, fault.RateLimited):
		return loginLimited
	}
	return loginFailed
}

// Limits of a login request, which is not authenticated yet.
const (
	// maxCredential is the maximum size of a name or password, in bytes.
	maxCredential = 1024
	// maxLoginBody is the maximum size of a body, in bytes. It must not be encoded.
	maxLoginBody = 4 << 10
	// loginReadTimeout is the maximum time for reading the body.
	loginReadTimeout = 5 * time.Second
)

type loginBody struct {
	Name     *string `json:"name"`
	Password *string `json:"password"`
}

// login creates a session. The session is always new, even if the request has a cookie. The
// error does not say whether the name or the password is wrong, and an unknown name takes as
// long as a known one.
func (a *Admin) login(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body loginBody
	if err := request.SmallJSON(w, r, &body, maxLoginBody, loginReadTimeout); err != nil {
		return err
	}
	var check request.Check
	check.Required("name", body.Name != nil)
	check.Required("password", body.Password != nil)
	for field, value := range map[string]*string{"name": body.Name, "password": body.Password} {
		if value != nil && len(*value) > maxCredential {
			check.Fail(field, "is too long")
		}
	}
	if err := check.Err(); err != nil {
		return err
	}
	secret, text, err := a.authenticate(r, *body.Name, *body.Password)
	a.loginCount.WithLabelValues(loginResult(err)).Inc()
	if err != nil {
		return err
	}
	a.setCookie(w, r, text)
	operator := request.Operator{
		ID: secret.ID, Name: secret.Name,
		SessionEnds: time.Now().UTC().Add(min(a.deps.Idle, a.deps.Age)).Truncate(time.Microsecond),
	}
	a.answerSession(w, r, &operator, text)
	return nil
}

// authenticate verifies name and password and creates a session.
func (a *Admin) authenticate(
	r *http.Request, name, text string,
) (secret access.OperatorSecret, session string, err error) {
	secret, err = a.verify(r, name, text)
	if fault.Is(err, fault.RateLimited) {
		secret, err = a.verifyReserved(r, name, text, err)
	}
	if fault.Is(err, fault.Unauthenticated) {
		_ = a.recordLogin(r, &secret, http.StatusUnauthorized) // a failure is logged there
	}
	if err == nil {
		session, err = a.openSession(r, secret)
	}
	return secret, session, err
}

// verify checks name and password. It returns an Unauthenticated error if one of them is
// wrong, together with the operator if the name is known, and a RateLimited error if too
// many logins failed.
func (a *Admin) verify(r *http.Request, name, text string) (access.OperatorSecret, error) {
	ctx, ip := r.Context(), request.ClientOf(r.Context()).IP
	address := ratelimit.Network(ip).String()
	if wait := a.logins.byAddress.Take(address, time.Now()); wait > 0 {
		return access.OperatorSecret{}, tooManyLogins(wait)
	}
	secret, err := a.deps.Operators.OperatorByName(ctx, name)
	known := err == nil
	switch {
	case !known && !fault.Is(err, fault.NotFound):
		a.logins.byAddress.Undo(address)
		return secret, err
	case !known:
		secret = access.OperatorSecret{PasswordHash: a.logins.dummyHash}
	}
	counted := !sameNetwork(secret.LastLoginIP, ip)
	if counted {
		if wait := a.logins.byName.Take(name, time.Now()); wait > 0 {
			return access.OperatorSecret{}, tooManyLogins(wait)
		}
	}
	undo := func() {
		a.logins.byAddress.Undo(address)
		if counted {
			a.logins.byName.Undo(name)
		}
	}
	ok, err := a.logins.hashing.matches(ctx, secret.PasswordHash, text)
	if err != nil {
		undo()
		return access.OperatorSecret{}, err
	}
	if !ok || !known {
		return secret, fault.New(fault.Unauthenticated, "The name or the password is wrong")
	}
	undo()
	return secret, nil
}

// verifyReserved checks name and password from an address that has reached its limit. An
// operator whose last login came from the same network has a few reserved attempts, which
// others can use up only if they know the name. Otherwise ten wrong passwords would lock out
// everyone behind one proxy. For a wrong password it returns refused, as for an unknown name,
// so that the response does not reveal names.
func (a *Admin) verifyReserved(r *http.Request, name, text string, refused error) (access.OperatorSecret, error) {
	ctx, ip := r.Context(), request.ClientOf(r.Context()).IP
	secret, err := a.deps.Operators.OperatorByName(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !sameNetwork(secret.LastLoginIP, ip):
		return access.OperatorSecret{}, refused
	case err != nil:
		return access.OperatorSecret{}, err
	}
	if a.logins.reserved.Take(name, time.Now()) > 0 {
		return access.OperatorSecret{}, refused
	}
	ok, err := a.logins.hashing.matches(ctx, secret.PasswordHash, text)
	if err != nil || ok {
		a.logins.reserved.Undo(name)
	}
	if err == nil && !ok {
		err = refused
	}
	if err != nil {
		return access.OperatorSecret{}, err
	}
	return secret, nil
}

// sameNetwork reports whether ip is in the network of the last login.
func sameNetwork(last *netip.Addr, ip netip.Addr) bool {
	return last != nil && ip.IsValid() && ratelimit.Network(*last) == ratelimit.Network(ip)
}

func tooManyLogins(wait time.Duration) error {
	return fault.New(fault.RateLimited, "Too many failed logins").After(wait)
}

// openSession creates a session. It replaces the session of the request's cookie, if any.
func (a *Admin) openSession(r *http.Request, secret access.OperatorSecret) (text string, err error) {
	ctx := r.Context()
	session := access.NewOperatorSession{
		Operator: secret.ID, PasswordHash: secret.PasswordHash, Age: a.deps.Age,
		IP: request.ClientOf(ctx).IP, UserAgent: clean(r.UserAgent()),
	}
	if old, ok := sessionText(r); ok {
		session.Replaces = sha256.Sum256([]byte(old))
	}
	text = newSessionText()
	session.Hash = sha256.Sum256([]byte(text))
	if err := a.recordLogin(r, &secret, http.StatusOK); err != nil {
		return "", err // no session without an audit record
	}
	return text, a.deps.Operators.OpenOperatorSession(ctx, session)
}

// recordLogin writes a login to the audit trail. An unknown name is not recorded, because it
// may be a password.
func (a *Admin) recordLogin(r *http.Request, secret *access.OperatorSecret, status int16) error {
	act := a.newAct(r, sessionPath)
	act.Status = &status
	if secret.Name != "" {
		act.Operator, act.OperatorName = &secret.ID, secret.Name
	}
	_, err := a.deps.Operators.BeginOperatorAct(r.Context(), act)
	if err != nil {
		a.logger.WarnContext(r.Context(), "a login cannot be recorded", "error", err)
	}
	return err
}
