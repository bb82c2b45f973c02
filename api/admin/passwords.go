package admin

import (
	"net/http"
	"unicode/utf8"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/password"
)

type passwordBody struct {
	Current *string `json:"current"`
	New     *string `json:"new"`
}

// changePassword changes the operator's password. It ends all sessions of the operator,
// including this one.
func (a *Admin) changePassword(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body passwordBody
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var check request.Check
	check.Required("current", body.Current != nil)
	check.Required("new", body.New != nil)
	if body.New != nil {
		CheckPassword(&check, "new", *body.New)
	}
	if err := check.Err(); err != nil {
		return err
	}
	if err := a.verifyOwnPassword(r, "current", *body.Current); err != nil {
		return err
	}
	hash, err := a.logins.hashing.hash(r.Context(), *body.New)
	if err != nil {
		return err
	}
	if _, err := a.deps.Operators.SetOperatorPassword(r.Context(), request.OperatorOf(r.Context()).ID, hash); err != nil {
		return err
	}
	a.setCookie(w, r, "")
	reply.NoContent(w)
	return nil
}

type passwordReset struct {
	OwnPassword *string `json:"ownPassword"`
	Password    *string `json:"password"`
}

// resetPassword sets another operator's password and ends the operator's sessions. Without a
// password in the body, it generates one and returns it once. It requires the caller's own
// password, because anyone who knows the new one can act as the other operator.
func (a *Admin) resetPassword(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "operator")
	if err != nil {
		return err
	}
	var body passwordReset
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var check request.Check
	check.Required("ownPassword", body.OwnPassword != nil)
	if body.Password != nil {
		CheckPassword(&check, "password", *body.Password)
	}
	if err := check.Err(); err != nil {
		return err
	}
	if id == request.OperatorOf(r.Context()).ID {
		return fault.New(
			fault.Conflict, "One's own password is changed, not reset: PUT /admin/api/session/password",
		).With("reason", "own_account")
	}
	if err := a.verifyOwnPassword(r, "ownPassword", *body.OwnPassword); err != nil {
		return err
	}
	hash, generated, err := a.hashOrGenerate(r, body.Password)
	if err != nil {
		return err
	}
	operator, err := a.deps.Operators.SetOperatorPassword(r.Context(), id, hash)
	if err != nil {
		return err
	}
	answer := operatorOf(&operator)
	answer.Password = generated
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}

// verifyOwnPassword checks the password of the session's operator. A wrong one counts as a
// failed login, but is reported as an invalid field, because the session stays valid.
func (a *Admin) verifyOwnPassword(r *http.Request, field, text string) error {
	wrong := fault.Field(fault.Invalid, field, "is not the password")
	if len(text) > maxCredential {
		return wrong
	}
	_, err := a.verify(r, request.OperatorOf(r.Context()).Name, text)
	if fault.Is(err, fault.Unauthenticated) {
		return wrong
	}
	return err
}

// hashOrGenerate returns the hash of chosen. If chosen is nil, it generates a password and
// returns it with its hash.
func (a *Admin) hashOrGenerate(r *http.Request, chosen *string) (hash, generated string, err error) {
	text := chosen
	if text == nil {
		generated = password.Generate()
		text = &generated
	}
	hash, err = a.logins.hashing.hash(r.Context(), *text)
	return hash, generated, err
}

// Limits of passwords, in characters. NIST SP 800-63B requires at least eight and advises
// against composition rules. The minimum is higher because a session has access to
// everything.
const (
	minPassword = 12
	maxPassword = 256
)

// CheckPassword validates a password chosen by a user.
func CheckPassword(check *request.Check, field, text string) {
	if n := utf8.RuneCountInString(text); n < minPassword || n > maxPassword {
		check.Fail(field, "must have 12 to 256 characters")
	}
}
