// Package keyadmin has the rules of API keys that the administration and the command line
// share.
package keyadmin

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

// WorkspaceError reports a workspace that a key cannot open. The callers put it into their
// own words.
type WorkspaceError struct {
	Index   int // among the ids that were given
	ID      uuid.UUID
	Unknown bool // there is no such workspace; false: it is of another mode than the first
}

// Error implements error.
func (e *WorkspaceError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("no workspace %s", e.ID)
	}
	return fmt.Sprintf("workspace %s is of another mode than the first", e.ID)
}

// Mode returns the mode of the workspaces with these ids, which must be among those found and
// have the same one. Its error is a *WorkspaceError.
func Mode(found []access.Workspace, ids []uuid.UUID) (mode string, err error) {
	for i, id := range ids {
		at := slices.IndexFunc(found, func(w access.Workspace) bool { return w.ID == id })
		switch {
		case at < 0:
			return "", &WorkspaceError{Index: i, ID: id, Unknown: true}
		case mode != "" && found[at].Mode != mode:
			return "", &WorkspaceError{Index: i, ID: id}
		}
		mode = found[at].Mode
	}
	return mode, nil
}
