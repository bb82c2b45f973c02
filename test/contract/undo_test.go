package contract_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

const undo, redo = `{"type":"UNDO"}`, `{"type":"REDO"}`

func undoOf(commandID string) string {
	return `{"type":"UNDO","payload":{"commandId":"` + commandID + `"}}`
}

func redoOf(commandID string) string {
	return `{"type":"REDO","payload":{"commandId":"` + commandID + `"}}`
}

// requireConflict checks that the answer is a conflict with the reason.
func requireConflict(t *testing.T, a *contract.Answer, reason string) {
	t.Helper()
	a.RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": reason})
}

func TestCommandsAreUndoneAndRedone(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	requireConflict(t, w.execute(t, undo), "nothing_to_undo")
	requireConflict(t, w.execute(t, redo), "nothing_to_redo")
	made := w.mustExecute(t, createNode("a"))
	id := made.Node.ID
	changed := w.mustExecute(t, updateNode(id, `"name":"b","properties":{"x":1}`))
	gone := w.mustExecute(t, deleteNode(id))

	for _, step := range []struct {
		body, target string
		want         commandResult
		version      int
		name         string // "": it does not exist
	}{
		{undo, gone.CommandID, commandResult{Type: "UNDO", UndoDepth: 2, RedoDepth: 1}, 4, "b"},
		{undo, changed.CommandID, commandResult{Type: "UNDO", UndoDepth: 1, RedoDepth: 2}, 5, "a"},
		{undo, made.CommandID, commandResult{Type: "UNDO", UndoDepth: 0, RedoDepth: 3}, 6, ""},
		{redo, made.CommandID, commandResult{Type: "REDO", UndoDepth: 1, RedoDepth: 2}, 7, "a"},
		{redo, changed.CommandID, commandResult{Type: "REDO", UndoDepth: 2, RedoDepth: 1}, 8, "b"},
		{redo, gone.CommandID, commandResult{Type: "REDO", UndoDepth: 3, RedoDepth: 0}, 9, ""},
	} {
		d := w.mustExecute(t, step.body)
		require.Equal(
			t, []any{step.want.Type, step.want.UndoDepth, step.want.RedoDepth, step.target},
			[]any{d.Type, d.UndoDepth, d.RedoDepth, d.Target.CommandID},
		)
		require.Equal(t, step.version, d.Node.Version, "a version only goes up")
		require.Equal(t, made.Node.CreatedAt, d.Node.CreatedAt)
		require.Equal(t, step.name == "", d.Node.Deleted)
		if now := w.readNode(t, id); step.name == "" {
			require.Nil(t, now)
		} else {
			require.Equal(t, []any{step.name, step.version, id}, []any{now.Name, now.Version, now.ID})
		}
	}
	requireConflict(t, w.execute(t, redo), "nothing_to_redo")
}

func TestANewCommandClearsWhatTheActorCouldRedo(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	id := w.newNode(t, "a")
	w.mustExecute(t, updateNode(id, `"name":"b"`))
	require.Equal(t, 1, w.mustExecute(t, undo).RedoDepth)
	require.Equal(t, 1, w.mustExecute(t, updateNode(id, `"name":"a"`)).RedoDepth, "a change of nothing clears nothing")
	require.Zero(t, w.mustExecute(t, updateNode(id, `"name":"c"`)).RedoDepth)
	requireConflict(t, w.execute(t, redo), "nothing_to_redo")
}

func TestEachActorUndoesItsOwnCommandsUnlessTheWorkspacesAreMeant(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	ann, bob := w.newActorKey(t), w.newActorKey(t)
	first := w.mustExecuteAs(t, ann, createNode("ann's"))
	second := w.mustExecuteAs(t, bob, createNode("bob's"))
	require.Equal(t, first.CommandID, w.mustExecuteAs(t, ann, undo).Target.CommandID)
	requireConflict(t, w.executeAs(t, ann, undo), "nothing_to_undo")
	require.Equal(
		t, first.CommandID, w.mustExecuteAs(t, ann, `{"type":"REDO","payload":{"scope":"mine"}}`).Target.CommandID,
	)

	// The workspace's last command is Bob's. Ann's undo removes it from his stack.
	require.Equal(
		t, second.CommandID, w.mustExecuteAs(t, ann, `{"type":"UNDO","payload":{"scope":"workspace"}}`).Target.CommandID,
	)
	requireConflict(t, w.executeAs(t, bob, undo), "nothing_to_undo")
	require.Equal(t, second.CommandID, w.mustExecuteAs(t, bob, redo).Target.CommandID, "he can redo what is his")
	require.Equal(t, second.CommandID, w.mustExecuteAs(t, ann, undoOf(second.CommandID)).Target.CommandID)
	w.mustExecuteAs(t, bob, redoOf(second.CommandID))
	w.executeAs(t, ann, undoOf(uuid.NewString())).RequireFailure(
		t, http.StatusNotFound, "NOT_FOUND", "", map[string]any{"field": "payload.commandId"},
	)
	w.executeAs(t, ann, undoOf("no-uuid")).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", nil)
}

func TestWhatOthersHaveChangedSinceBlocksAnUndo(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	ann, bob := w.newActorKey(t), w.newActorKey(t)
	id := w.mustExecuteAs(t, ann, createNode("a")).Node.ID
	mine := w.mustExecuteAs(t, ann, updateNode(id, `"name":"b","properties":{"x":1,"y":1}`))
	other := w.mustExecuteAs(t, ann, createNode("other"))
	theirs := w.mustExecuteAs(t, bob, updateNode(id, `"properties":{"x":2,"z":2}`))

	w.mustExecuteAs(t, ann, undo) // the other node
	before := w.readNode(t, id)
	blocked := w.executeAs(t, ann, undo)
	requireConflict(t, blocked, "undo_blocked")
	require.Equal(
		t, []any{map[string]any{"kind": "node", "id": id, "field": "properties.x", "byCommandId": theirs.CommandID}},
		blocked.Error.Details["conflicts"],
	)
	require.Equal(t, before, w.readNode(t, id), "nothing changed")
	redone := w.mustExecuteAs(t, ann, redo)
	require.Equal(t, other.CommandID, redone.Target.CommandID, "the stacks are as they were")
	w.mustExecuteAs(t, ann, undoOf(other.CommandID)) // a blocked command does not block others
	w.mustExecuteAs(t, bob, undo)
	require.Equal(t, mine.CommandID, w.mustExecuteAs(t, ann, undo).Target.CommandID)
	require.Equal(t, "a", w.readNode(t, id).Name)
	require.Empty(t, w.readNode(t, id).Properties)

	edge := w.mustExecuteAs(t, bob, createEdge(id, id))
	blocked = w.executeAs(t, ann, undo) // of the creation: Bob has added an edge since
	requireConflict(t, blocked, "undo_blocked")
	require.Equal(t, edge.CommandID, blocked.Error.Details["conflicts"].([]any)[0].(map[string]any)["byCommandId"])
}

func TestUndoingADeletionRestoresTheNodeAndItsEdges(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	ann, bob := w.newActorKey(t), w.newActorKey(t)
	a, b, c := w.mustExecuteAs(t, ann, createNode("a")).Node.ID, w.mustExecuteAs(t, bob, createNode("b")).Node.ID,
		w.mustExecuteAs(t, bob, createNode("c")).Node.ID
	first, second := w.mustExecuteAs(t, bob, createEdge(a, b)).Edge.ID, w.mustExecuteAs(t, bob, createEdge(c, a)).Edge.ID
	w.mustExecuteAs(t, ann, deleteNode(a))
	back := w.mustExecuteAs(t, ann, undo)
	require.ElementsMatch(t, []string{first, second}, back.Affected.Edges)
	require.Equal(t, []any{3, 3}, []any{w.readEdge(t, first).Version, w.readEdge(t, second).Version})
	w.mustExecuteAs(t, ann, redo)
	require.Nil(t, w.readEdge(t, first))

	gone := w.mustExecuteAs(t, bob, deleteNode(c))
	blocked := w.executeAs(t, ann, undo)
	requireConflict(t, blocked, "undo_blocked")
	require.Equal(
		t, []any{map[string]any{"kind": "edge", "id": second, "byCommandId": gone.CommandID}},
		blocked.Error.Details["conflicts"],
	)
	require.Nil(t, w.readNode(t, a))
	w.mustExecuteAs(t, bob, undo)
	w.mustExecuteAs(t, ann, undo)
	require.NotNil(t, w.readEdge(t, second))
}

// The stacks return the newest hundred commands. Each undo makes an older one visible.
func TestAHundredCommandsCanBeUndone(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	made := w.mustExecute(t, createNode("a"))
	id := made.Node.ID
	for i := range 105 {
		d := w.mustExecute(t, updateNode(id, `"properties":{"n":`+string(rune('0'+i%10))+`}`))
		require.Equal(t, min(i+2, 100), d.UndoDepth)
	}
	refused := w.execute(t, undoOf(made.CommandID))
	requireConflict(t, refused, "nothing_to_undo")
	for i := range 105 {
		d := w.mustExecute(t, undo)
		require.Equal(t, []any{min(105-i, 100), min(i+1, 100)}, []any{d.UndoDepth, d.RedoDepth})
	}
	require.Equal(t, 211, w.readNode(t, id).Version)
	w.mustExecute(t, undo)
	requireConflict(t, w.execute(t, undo), "nothing_to_undo")
}

func TestAnAppliedCommandIsUndoneAfterAHundredThatWereUndone(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	made := w.mustExecute(t, createNode("a"))
	for range 105 {
		w.mustExecute(t, createNode("b"))
		require.Equal(t, 1, w.mustExecute(t, undo).UndoDepth)
	}
	d := w.mustExecute(t, undo)
	require.Equal(t, made.CommandID, d.Target.CommandID)
}
