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

// logins is what bounds them.
type logins struct {
	byAddress *ratelimit.Counter
	byName    *ratelimit.Counter
	// kept counts by name what is tried from the network of the name's last login when the
	// address has no attempts left.
	kept    *ratelimit.Counter
	hashing *hashing
	// nobody's hash is what the password of an unknown name is compared with, so that it
	// takes as long as that of a known one.
	nobody string
}

func newLogins(a Attempts) logins {
	return logins{
		byAddress: ratelimit.NewCounter(cmp.Or(a.PerAddress, perAddress), cmp.Or(a.AddressWindow, addressWindow)),
		byName:    ratelimit.NewCounter(cmp.Or(a.PerName, perName), cmp.Or(a.NameWindow, nameWindow)),
		kept:      ratelimit.NewCounter(cmp.Or(a.Kept, keptAttempts), cmp.Or(a.AddressWindow, addressWindow)),
		hashing:   newHashing(),
		nobody:    password.Hash(password.Generate()),
	}
}

// What becomes of logins.
const (
	loginSucceeded = "succeeded"
	loginRefused   = "refused"
	loginLimited   = "limited"
	loginFailed    = "failed"
)

func newLoginCounter(registerer prometheus.Registerer) *prometheus.CounterVec {
	counter := promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_operator_logins_total",
		Help: "Logins on the administration page by result: succeeded, refused (name or password wrong), limited (429: too " +
			"many failed), failed (a store, or too many at a time).",
	}, []string{"result"})
	for _, result := range []string{loginSucceeded, loginRefused, loginLimited, loginFailed} {
		counter.WithLabelValues(result)
	}
	return counter
}

// loginResult names what became of a login.
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

// What is read of a login: nobody who sends one is known yet.
const (
	// longestCredential bounds names and passwords that are looked at, in bytes.
	longestCredential = 1024
	// maxLogin is the maximum number of bytes of a body, in no encoding.
	maxLogin = 4 << 10
	// loginPatience is how long the body may take to come.
	loginPatience = 5 * time.Second
)

type loginBody struct {
	Name     *string `json:"name"`
	Password *string `json:"password"`
}

// login opens a session: always a new one, whatever cookie came. What was wrong is not
// said, and a name that nobody has takes as long.
func (a *Admin) login(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body loginBody
	if err := request.SmallJSON(w, r, &body, maxLogin, loginPatience); err != nil {
		return err
	}
	var check request.Check
	check.Required("name", body.Name != nil)
	check.Required("password", body.Password != nil)
	for field, value := range map[string]*string{"name": body.Name, "password": body.Password} {
		if value != nil && len(*value) > longestCredential {
			check.Fail(field, "is too long")
		}
	}
	if err := check.Err(); err != nil {
		return err
	}
	secret, text, err := a.enter(r, *body.Name, *body.Password)
	a.came.WithLabelValues(loginResult(err)).Inc()
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

// enter opens a session for a name and password that are right.
func (a *Admin) enter(r *http.Request, name, text string) (secret access.OperatorSecret, session string, err error) {
	secret, err = a.verify(r, name, text)
	if fault.Is(err, fault.RateLimited) {
		secret, err = a.verifyKept(r, name, text, err)
	}
	if fault.Is(err, fault.Unauthenticated) {
		_ = a.noteLogin(r, &secret, http.StatusUnauthorized) // that it cannot be is logged
	}
	if err == nil {
		session, err = a.open(r, secret)
	}
	return secret, session, err
}

// verify checks name and password. Unauthenticated: one of them is wrong; whose name it
// is, if it is somebody's, is given all the same. RateLimited: too many failed.
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
		a.logins.byAddress.GiveBack(address)
		return secret, err
	case !known:
		secret = access.OperatorSecret{PasswordHash: a.logins.nobody}
	}
	counted := !sameNetwork(secret.LastLoginIP, ip)
	if counted {
		if wait := a.logins.byName.Take(name, time.Now()); wait > 0 {
			return access.OperatorSecret{}, tooManyLogins(wait)
		}
	}
	giveBack := func() {
		a.logins.byAddress.GiveBack(address)
		if counted {
			a.logins.byName.GiveBack(name)
		}
	}
	ok, err := a.logins.hashing.matches(ctx, secret.PasswordHash, text)
	if err != nil {
		giveBack()
		return access.OperatorSecret{}, err
	}
	if !ok || !known {
		return secret, fault.New(fault.Unauthenticated, "The name or the password is wrong")
	}
	giveBack()
	return secret, nil
}

// verifyKept checks name and password from an address that has no attempts left. An
// operator whose last login came from there has a few more, which others use up only if they
// know the name: else ten wrong passwords would lock out everybody behind one proxy. A wrong
// password is answered as any other login from there is, so that the answer names nobody.
func (a *Admin) verifyKept(r *http.Request, name, text string, refused error) (access.OperatorSecret, error) {
	ctx, ip := r.Context(), request.ClientOf(r.Context()).IP
	secret, err := a.deps.Operators.OperatorByName(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !sameNetwork(secret.LastLoginIP, ip):
		return access.OperatorSecret{}, refused
	case err != nil:
		return access.OperatorSecret{}, err
	}
	if a.logins.kept.Take(name, time.Now()) > 0 {
		return access.OperatorSecret{}, refused
	}
	ok, err := a.logins.hashing.matches(ctx, secret.PasswordHash, text)
	if err != nil || ok {
		a.logins.kept.GiveBack(name)
	}
	if err == nil && !ok {
		err = refused
	}
	if err != nil {
		return access.OperatorSecret{}, err
	}
	return secret, nil
}

// sameNetwork reports whether a login comes from where the last one came from.
func sameNetwork(last *netip.Addr, ip netip.Addr) bool {
	return last != nil && ip.IsValid() && ratelimit.Network(*last) == ratelimit.Network(ip)
}

func tooManyLogins(wait time.Duration) error {
	return fault.New(fault.RateLimited, "Too many failed logins").After(wait)
}

// open opens a session, in the place of the one whose cookie came, if any.
func (a *Admin) open(r *http.Request, secret access.OperatorSecret) (text string, err error) {
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
	if err := a.noteLogin(r, &secret, http.StatusOK); err != nil {
		return "", err // who cannot be seen to come does not come in
	}
	return text, a.deps.Operators.OpenOperatorSession(ctx, session)
}

// noteLogin notes a login in the trail. A name that nobody has is not kept: it may be a
// password.
func (a *Admin) noteLogin(r *http.Request, secret *access.OperatorSecret, status int16) error {
	act := a.act(r, sessionPath)
	act.Status = &status
	if secret.Name != "" {
		act.Operator, act.OperatorName = &secret.ID, secret.Name
	}
	_, err := a.deps.Operators.BeginOperatorAct(r.Context(), act)
	if err != nil {
		a.logger.WarnContext(r.Context(), "a login cannot be noted", "error", err)
	}
	return err
}
