// Package request strictly parses requests: the principal, URL parameters, JSON
// bodies with field paths, encodings and limits.
package request

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Scope is a permission of a key.
type Scope string

// The scopes of the API.
const (
	ReadNodes     Scope = "read:nodes"
	WriteNodes    Scope = "write:nodes"
	ReadEdges     Scope = "read:edges"
	WriteEdges    Scope = "write:edges"
	ReadLiveData  Scope = "read:livedata"
	WriteLiveData Scope = "write:livedata"
	Admin         Scope = "admin"
)

// Scopes are all scopes, in the order of the API's documentation.
var Scopes = []Scope{ReadNodes, WriteNodes, ReadEdges, WriteEdges, ReadLiveData, WriteLiveData, Admin}

// Principal is the authenticated key of a request and the workspace in its workspace
// header.
type Principal struct {
	KeyID     uuid.UUID
	ActorID   uuid.UUID
	Scopes    []Scope
	Workspace uuid.UUID // zero on global routes
}

// May reports whether the principal has the scope; admin includes all.
func (p *Principal) May(scope Scope) bool {
	return slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, Admin)
}

type principalKey struct{}

// WithPrincipal returns a context with the principal.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the context's principal. It is nil on routes without a key.
func PrincipalOf(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// Require returns a Forbidden error if the principal has none of the scopes. It is for
// routes whose scope depends on the body. Other routes declare their scopes.
func Require(ctx context.Context, anyOf ...Scope) error {
	if p := PrincipalOf(ctx); p != nil && slices.ContainsFunc(anyOf, p.May) {
		return nil
	}
	return fault.New(fault.Forbidden, "Forbidden").With("required", anyOf)
}

// PathID parses the id in a path parameter. If it is not a UUID, it returns the same
// NotFound error as for an unknown id. what is the kind of resource, for the message.
func PathID(r *http.Request, parameter, what string) (uuid.UUID, error) {
	id, ok := ParseUUID(chi.URLParam(r, parameter))
	if !ok {
		return id, fault.Newf(fault.NotFound, "No such %s", what)
	}
	return id, nil
}
