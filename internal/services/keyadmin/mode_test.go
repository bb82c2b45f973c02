package keyadmin

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

func TestAKeyIsOfTheModeOfAllItsWorkspaces(t *testing.T) {
	live, other, sandbox, unknown := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	found := []access.Workspace{{ID: sandbox, Mode: "test"}, {ID: other, Mode: "live"}, {ID: live, Mode: "live"}}
	mode, err := Mode(found, []uuid.UUID{live, other})
	require.NoError(t, err)
	require.Equal(t, "live", mode)
	_, err = Mode(found, []uuid.UUID{live, sandbox})
	require.Equal(t, &WorkspaceError{Index: 1, ID: sandbox}, err)
	_, err = Mode(found, []uuid.UUID{live, unknown, sandbox})
	require.Equal(t, &WorkspaceError{Index: 1, ID: unknown, Unknown: true}, err)
}
