// Package route is how a group of endpoints declares itself: method, path, who
// may ask, and what answers. The api package serves the declarations and
// enforces the access; so that what a route requires is written in one place,
// and a test can compare the whole table with the published contract.
package route

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
)

// Access says what a request must carry before its route's handler is called.
type Access uint8

const (
	// Workspace requires a key with one of the route's scopes, and a workspace
	// header naming one of the key's workspaces. The principal is in the context.
	Workspace Access = iota
	// Global requires a key, with any scopes or none. There is no workspace.
	Global
	// Public wants nothing.
	Public
	// Operator requires a session of the administration page, and on requests that change
	// something its token against forgeries. The operator is in the context. Such routes
	// are below /admin/api.
	Operator
)

// Work is what a route's requests make the service do. How many of each may be worked on
// at a time is bounded by itself, so that too many of one leave the others be. It is the
// value of a label.
type Work string

// The kinds of work.
const (
	OtherWork    Work = "" // reads, mostly
	WritesPoints Work = "points"
	ChangesGraph Work = "graph"
	// Requests without a key or a session; of these one address has a share only.
	ServesFiles Work = "files" // the documentation, the administration page
	LogsIn      Work = "logins"
)

// Handler answers a request, or gives the error to answer with, but not both.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Route is one method of one path.
type Route struct {
	Method  string
	Pattern string // as chi reads it: /api/live-data/sources/{id}
	Access  Access
	// Scopes of which a key needs any one. Where the scope depends on the body,
	// all possible ones; the handler then calls request.Require.
	Scopes []request.Scope
	// All says that a key needs all of them, not any one.
	All bool
	// Lasts says that the answer goes on until somebody ends it; its handler finds
	// a request.Session in the context.
	Lasts  bool
	Handle Handler
	Work   Work
	// ReadsData says that an operator's route shows tenants' data: that it was asked is noted in
	// the operators' trail, as changes are.
	ReadsData bool
	// Room refuses, as Unavailable, a request that would find no room for its work; nil: there
	// always is. It is asked before the request is counted against the workspace's plan.
	Room func() error
	// Dialect is set on a route for the clients of another product.
	Dialect *Dialect
}

// Dialect is how the clients of another product ask where they are used to other
// interfaces than ours.
type Dialect struct {
	// Key gives the text of the key in an Authorization header; false: it is of no
	// scheme that they use.
	Key func(authorization string) (text string, ok bool)
	// Workspace gives the parameter by which they name a workspace, and the one that
	// is named there, zero if it is none's id.
	Workspace func(r *http.Request) (parameter string, id uuid.UUID)
	// Errors is how they read errors.
	Errors reply.Dialect
}

// PathPattern returns the path as the contract writes it, wildcards included:
// chi's /api/docs/* is /api/docs/{asset}.
func (rt *Route) PathPattern() string {
	if n := len(rt.Pattern) - 1; rt.Pattern[n] == '*' {
		return rt.Pattern[:n] + "{asset}"
	}
	return rt.Pattern
}
