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

// changePassword changes the operator's password. All sessions end, this one too.
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
	if err := a.verifyOwn(r, "current", *body.Current); err != nil {
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

// resetPassword sets another operator's password to the one that is given or, else, one that is
// made and shown this once, and ends the sessions. Who holds the password acts under the
// operator's name, so a session that was left open is not enough for it.
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
	if err := a.verifyOwn(r, "ownPassword", *body.OwnPassword); err != nil {
		return err
	}
	hash, made, err := a.hashGivenOrMade(r, body.Password)
	if err != nil {
		return err
	}
	operator, err := a.deps.Operators.SetOperatorPassword(r.Context(), id, hash)
	if err != nil {
		return err
	}
	answer := operatorOf(&operator)
	answer.Password = made
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}

// verifyOwn checks the password of the operator whose session it is. A wrong one counts as
// a failed login, and is a fault of the field: the session holds.
func (a *Admin) verifyOwn(r *http.Request, field, text string) error {
	wrong := fault.Field(fault.Invalid, field, "is not the password")
	if len(text) > longestCredential {
		return wrong
	}
	_, err := a.verify(r, request.OperatorOf(r.Context()).Name, text)
	if fault.Is(err, fault.Unauthenticated) {
		return wrong
	}
	return err
}

// hashGivenOrMade returns the hash of a password that was chosen, or of one that is made,
// which it gives as well.
func (a *Admin) hashGivenOrMade(r *http.Request, chosen *string) (hash, made string, err error) {
	text := chosen
	if text == nil {
		made = password.Generate()
		text = &made
	}
	hash, err = a.logins.hashing.hash(r.Context(), *text)
	return hash, made, err
}

// Bounds of passwords, in characters. NIST SP 800-63B wants eight at least and no rules
// about which; these open everything.
const (
	shortestPassword = 12
	longestPassword  = 256
)

// CheckPassword checks a password that somebody chose.
func CheckPassword(check *request.Check, field, text string) {
	if n := utf8.RuneCountInString(text); n < shortestPassword || n > longestPassword {
		check.Fail(field, "must have 12 to 256 characters")
	}
}
