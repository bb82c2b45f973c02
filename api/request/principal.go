// Package request reads requests strictly: who asks (the principal), URL
// parameters, JSON bodies with field paths, encodings and limits.
package request

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Scope is a right that a key can have.
type Scope string

// The scopes of the interface.
const (
	ReadNodes     Scope = "read:nodes"
	WriteNodes    Scope = "write:nodes"
	ReadEdges     Scope = "read:edges"
	WriteEdges    Scope = "write:edges"
	ReadLiveData  Scope = "read:livedata"
	WriteLiveData Scope = "write:livedata"
	Admin         Scope = "admin"
)

// Scopes lists all scopes, in the interface's order.
var Scopes = []Scope{ReadNodes, WriteNodes, ReadEdges, WriteEdges, ReadLiveData, WriteLiveData, Admin}

// Principal is who asks, and in which workspace: what a valid key and the
// workspace header amount to.
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

// WithPrincipal puts the principal into the context.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the context's principal. It is nil on routes without a key.
func PrincipalOf(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// Require refuses, as Forbidden, a principal that has none of the scopes. It is
// for routes whose scope depends on the body; others declare theirs.
func Require(ctx context.Context, anyOf ...Scope) error {
	if p := PrincipalOf(ctx); p != nil && slices.ContainsFunc(anyOf, p.May) {
		return nil
	}
	return fault.New(fault.Forbidden, "Forbidden").With("required", anyOf)
}

// PathID reads the id in the path's parameter. What is no UUID is NotFound, the
// same as an id that is unknown; what names the kind of resource.
func PathID(r *http.Request, parameter, what string) (uuid.UUID, error) {
	id, ok := ParseUUID(chi.URLParam(r, parameter))
	if !ok {
		return id, fault.Newf(fault.NotFound, "No such %s", what)
	}
	return id, nil
}
