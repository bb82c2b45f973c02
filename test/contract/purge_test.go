package contract_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/test/contract"
)

func TestADeletedNodeIsPurged(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	var made struct{ Node struct{ ID string } }
	a := w.execute(t, createNode("Quintus"))
	require.Equal(t, http.StatusCreated, a.Status)
	require.NoError(t, json.Unmarshal(a.Data, &made))
	path := func(id string) string { return "/api/admin/nodes/" + id + "/purge" }
	purge := func(id string, status int) (state string) {
		t.Helper()
		a := w.Do(t, contract.Request{Method: http.MethodPost, Path: path(id)})
		require.Equal(t, status, a.Status, "%s", a.Body)
		if status < 400 {
			var of struct{ NodeID, State string }
			require.NoError(t, json.Unmarshal(a.Data, &of))
			require.Equal(t, id, of.NodeID)
			return of.State
		}
		return ""
	}
	w.Do(t, contract.Request{Method: http.MethodPost, Path: path(made.Node.ID)}).
		RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "node_stands"})
	for _, unknown := range []string{uuid.NewString(), "x"} {
		require.Equal(t, http.StatusNotFound, w.Do(t, contract.Request{Method: http.MethodPost, Path: path(unknown)}).Status)
	}
	elsewhere := w.Do(t, contract.Request{Method: http.MethodPost, Path: path(made.Node.ID), Key: w.NewKey(
		t, []uuid.UUID{w.NewWorkspace(t, "live")}, request.Admin,
	)})
	require.Equal(t, http.StatusForbidden, elsewhere.Status)
	require.Equal(
		t, http.StatusBadRequest,
		w.Do(t, contract.Request{Method: http.MethodPost, Path: path(made.Node.ID), Body: `{"force":true}`}).Status,
	)

	require.Equal(t, http.StatusOK, w.execute(t, `{"type":"DELETE_NODE","payload":{"id":"`+made.Node.ID+`"}}`).Status)
	require.Equal(t, "purging", purge(made.Node.ID, http.StatusAccepted), "no background work runs here")
	require.NoError(t, w.DB.PurgeNode(t.Context(), graphstore.GraphNodeID{
		Workspace: w.Workspace, Node: uuid.MustParse(made.Node.ID),
	}))
	require.Equal(t, "purged", purge(made.Node.ID, http.StatusOK))
	w.execute(t, `{"type":"UNDO"}`).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "nothing_to_undo"},
	)
	history := w.Do(t, contract.Request{Path: "/api/queries/history?nodeId=" + made.Node.ID})
	require.Equal(t, http.StatusOK, history.Status)
	require.NotContains(t, string(history.Body), "Quintus")
	require.Contains(t, string(history.Body), made.Node.ID)
}
