// Package keyadmin has the rules for API keys that the admin API and the command line share.
package keyadmin

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

// WorkspaceError reports a workspace that a key cannot have. Callers format their own messages
// from it.
type WorkspaceError struct {
	Index   int // in the given ids
	ID      uuid.UUID
	Unknown bool // the workspace does not exist; false: its mode differs from that of the first
}

// Error implements error.
func (e *WorkspaceError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("no workspace %s", e.ID)
	}
	return fmt.Sprintf("workspace %s is of another mode than the first", e.ID)
}

// Mode returns the common mode of the workspaces with these ids. It returns a *WorkspaceError if
// an id is not among those found, or if the modes differ.
func Mode(found []access.Workspace, ids []uuid.UUID) (mode string, err error) {
	for i, id := range ids {
		index := slices.IndexFunc(found, func(w access.Workspace) bool { return w.ID == id })
		switch {
		case index < 0:
			return "", &WorkspaceError{Index: i, ID: id, Unknown: true}
		case mode != "" && found[index].Mode != mode:
			return "", &WorkspaceError{Index: i, ID: id}
		}
		mode = found[index].Mode
	}
	return mode, nil
}
