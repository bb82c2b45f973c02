// Package route defines how endpoints are declared: method, path, required access and
// handler. The api package serves the declared routes and enforces their access. So the
// requirements of a route are in one place, and a test can compare all routes with the
// published contract.
package route

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

// Access is the authentication that a route requires.
type Access uint8

const (
	// Workspace requires a key with one of the route's scopes, and a workspace
	// header with one of the key's workspaces. The principal is in the context.
	Workspace Access = iota
	// Global requires a key, with any scopes or none. There is no workspace.
	Global
	// Public requires nothing.
	Public
	// Operator requires a session of the admin UI and, for requests that change something,
	// its CSRF token. The operator is in the context. Such routes are below /admin/api.
	Operator
)

// Work is the kind of work of a route's requests. The number of concurrent requests of each
// kind is limited separately, so that too many of one kind do not affect the others. It is
// the value of a metric label.
type Work string

// The kinds of work.
const (
	OtherWork    Work = "" // mostly reads
	WritesPoints Work = "points"
	ChangesGraph Work = "graph"
	// Requests without a key or a session. The share of one address is limited.
	ServesFiles Work = "files" // the documentation, the admin UI
	LogsIn      Work = "logins"
)

// Handler writes the response to a request or returns the error to respond with, but not both.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Route is one method of one path.
type Route struct {
	Method  string
	Pattern string // pattern of chi, such as /api/live-data/sources/{id}
	Access  Access
	// Scopes are the scopes of which a key requires at least one. If the scope depends on
	// the body, these are all possible ones, and the handler calls request.Require.
	Scopes []request.Scope
	// RequireAllScopes reports that a key requires all Scopes.
	RequireAllScopes bool
	// Streaming reports that the response is a stream without an end. A request.Session is in
	// the context.
	Streaming bool
	// CanStream reports that the response is a stream with an end if the request accepts one. A request.Session is in
	// the context of all requests.
	CanStream bool
	Handle    Handler
	Work      Work
	// ReadsData reports that an operator's route returns tenants' data. Its requests are
	// recorded in the operators' audit trail, like changes.
	ReadsData bool
	// CheckCapacity returns an Unavailable error if there is no capacity for the request; nil: there
	// always is. It is called before the request is counted against the workspace's plan.
	CheckCapacity func() error
	// Dialect is set on a route for the clients of another product.
	Dialect *Dialect
}

// Dialect adapts a route to the conventions of another product's clients.
type Dialect struct {
	// Key returns the key in an Authorization header, or false if the scheme is not one
	// that the clients use. Nil: the scheme is Bearer.
	Key func(authorization string) (text string, ok bool)
	// Workspace returns the parameter that contains the workspace, and the id in it, which
	// is zero if it is not valid. Nil: only the header has it.
	Workspace func(r *http.Request) (parameter string, id uuid.UUID)
	// WorkspaceOptional allows requests without the header with keys of one workspace.
	WorkspaceOptional bool
	// Prefix is the path of the product's API, such as /prometheus. The dialect applies to all
	// paths below it, so that routes may have parameters in their paths, and paths without a
	// route require a key. It is empty if the dialect applies to one path.
	Prefix string
	// Errors is the dialect of error responses. Without Convert they are those of the API.
	Errors reply.Dialect
}

// PathPattern returns the path as the contract writes it, including wildcards: chi's
// /api/docs/* is /api/docs/{asset}.
func (rt *Route) PathPattern() string {
	if n := len(rt.Pattern) - 1; rt.Pattern[n] == '*' {
		return rt.Pattern[:n] + "{asset}"
	}
	return rt.Pattern
}
