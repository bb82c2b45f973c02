package admin

import (
	"net/http"
	"net/netip"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// operatorAnswer is an operator in responses.
type operatorAnswer struct {
	ID          uuid.UUID   `json:"id"`
	Name        string      `json:"name"`
	CreatedAt   time.Time   `json:"createdAt"`
	UpdatedAt   time.Time   `json:"updatedAt"` // when the password was last changed
	LastLoginAt *time.Time  `json:"lastLoginAt"`
	LastLoginIP *netip.Addr `json:"lastLoginIp"`
	Sessions    int         `json:"sessions"`
	// Password is set once, if the server generated it for a new operator or at a reset.
	Password string `json:"password,omitempty"`
}

func operatorOf(o *access.Operator) operatorAnswer {
	return operatorAnswer{
		ID: o.ID, Name: o.Name, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
		LastLoginAt: o.LastLoginAt, LastLoginIP: o.LastLoginIP, Sessions: o.Sessions,
	}
}

// operators lists the operators by name. They are few, so there is no pagination.
func (a *Admin) operators(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	found, err := a.deps.Operators.Operators(r.Context())
	if err != nil {
		return err
	}
	list := make([]operatorAnswer, len(found))
	for i := range found {
		list[i] = operatorOf(&found[i])
	}
	reply.List(w, r, list, reply.Meta{Total: int64(len(list)), Limit: len(list)})
	return nil
}

// operatorNames matches valid names. It excludes characters that look like others.
var operatorNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// CheckOperatorName validates the name of a new operator.
func CheckOperatorName(check *request.Check, field, name string) {
	if !operatorNames.MatchString(name) {
		check.Fail(
			field, "must have 1 to 64 characters, letters and digits without accents, and . _ @ + - but at the beginning",
		)
	}
}

type newOperator struct {
	Name     *string `json:"name"`
	Password *string `json:"password"`
}

// createOperator creates an operator with the password in the body. Without one, it generates
// a password and returns it once.
func (a *Admin) createOperator(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newOperator
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var check request.Check
	check.Required("name", body.Name != nil)
	if body.Name != nil {
		CheckOperatorName(&check, "name", *body.Name)
	}
	if body.Password != nil {
		CheckPassword(&check, "password", *body.Password)
	}
	if err := check.Err(); err != nil {
		return err
	}
	hash, generated, err := a.hashOrGenerate(r, body.Password)
	if err != nil {
		return err
	}
	operator, err := a.deps.Operators.CreateOperator(r.Context(), *body.Name, hash)
	if err != nil {
		return err
	}
	request.NotesOf(r.Context()).AddResult(operator.ID.String())
	answer := operatorOf(&operator)
	answer.Password = generated
	reply.Data(w, r, http.StatusCreated, answer)
	return nil
}

// deleteOperator deletes another operator and ends the operator's sessions.
func (a *Admin) deleteOperator(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "operator")
	if err != nil {
		return err
	}
	if id == request.OperatorOf(r.Context()).ID {
		return fault.New(fault.Conflict, "Operators do not delete themselves; another one can").With("reason", "own_account")
	}
	if err := a.deps.Operators.DeleteOperator(r.Context(), id); err != nil {
		return err
	}
	reply.NoContent(w)
	return nil
}
