package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// batchResult is the answer to a batch.
type batchResult struct {
	BatchID string
	Results []struct {
		Index  int
		Status string
		Data   *commandResult
		Error  *contract.Problem
	}
}

func batchOf(atomic bool, commands ...string) string {
	return fmt.Sprintf(`{"atomic":%t,"commands":[%s]}`, atomic, strings.Join(commands, ","))
}

func TestAnAtomicBatchIsOneChangeAndOneUndoStep(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a, b := uuid.NewString(), uuid.NewString()
	made := decode[batchResult](t, w.batch(t, `{"commands":[
		{"type":"CREATE_NODE","payload":{"id":"`+a+`","name":"a","entityType":"object"}},
		{"type":"CREATE_NODE","payload":{"id":"`+b+`","name":"b","entityType":"object"}},
		`+createEdge(a, b)+`,`+updateNode(a, `"name":"c"`)+`,`+updateNode(a, `"name":"c"`)+`]}`), http.StatusOK)
	require.Len(t, made.Results, 5)
	for i, r := range made.Results {
		require.Equal(t, []any{i, "applied", made.BatchID, 1, 1}, []any{
			r.Index, r.Status, r.Data.CommandID, r.Data.UndoDepth, *r.Data.Sequence,
		})
		require.Nil(t, r.Error)
	}
	require.Equal(t, "c", w.readNode(t, a).Name)
	require.Equal(t, 1, w.readNode(t, a).Version, "one change")
	edge := made.Results[2].Data.Edge.ID

	undone := w.mustExecute(t, undo)
	require.Equal(t, []any{made.BatchID, "BATCH"}, []any{undone.Target.CommandID, undone.Target.Type})
	require.ElementsMatch(t, []string{a, b}, undone.Affected.Nodes)
	for _, gone := range []*graphItem{w.readNode(t, a), w.readNode(t, b), w.readEdge(t, edge)} {
		require.Nil(t, gone)
	}
	require.Equal(t, made.BatchID, w.mustExecute(t, redoOf(made.BatchID)).Target.CommandID)
	require.Equal(t, "c", w.readNode(t, a).Name)
	require.NotNil(t, w.readEdge(t, edge))
}

// badLastCommands returns commands that fail as the third of an atomic batch that contains
// create before them.
func badLastCommands(id, create string) []refusal {
	return []refusal{
		{deleteNode(uuid.NewString()), 404, "commands[2].payload.id"},
		{createEdge(id, "no-uuid"), 404, "commands[2].payload.targetId"}, {create, 409, "commands[2].payload.id"},
		{`{"type":"UPDATE_NODE","expectedVersion":9,"payload":{"id":"` + id + `","name":"c"}}`, 409, ""},
		{`{"type":"CREATE_NODE","payload":{"name":"","entityType":"object"}}`, 422, "commands[2].payload.name"},
		{`{"type":"CREATE_NODE","payload":{"name":"a","entityType":"thing"}}`, 422, "commands[2].payload.entityType"},
		{`{"type":"FLY"}`, 422, "commands[2].type"}, {undo, 422, "commands[2].type"},
		{`{"type":"DELETE_NODE","payload":{}}`, 400, "commands[2].payload.id"}, {`7`, 400, "commands[2]"},
	}
}

func TestAnAtomicBatchThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	id := w.newNode(t, "a")
	fresh := uuid.NewString()
	create := `{"type":"CREATE_NODE","payload":{"id":"` + fresh + `","name":"new","entityType":"object"}}`
	for _, c := range badLastCommands(id, create) {
		a := w.batch(t, batchOf(true, create, updateNode(id, `"name":"b"`), c.body))
		require.Equal(t, c.status, a.Status, "%s", a.Body)
		if c.field != "" {
			require.Equal(t, c.field, a.Error.Details["field"], "%s", a.Body)
		}
		require.InDelta(t, 2, a.Error.Details["index"], 0, "%s", a.Body)
		require.Equal(t, 1, w.readNode(t, id).Version)
		require.Nil(t, w.readNode(t, fresh))
	}
	require.Equal(t, 2, *w.mustExecute(t, create).Sequence, "no sequence is used up")
}

func TestTheCommandsOfASeparateBatchAreDoneEachByItself(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	id := w.newNode(t, "a")
	got := decode[batchResult](t, w.batch(t, batchOf(false, updateNode(id, `"name":"b"`), deleteNode(uuid.NewString()),
		`{"type":"CREATE_NODE","payload":{"name":"","entityType":"object"}}`,
		`{"type":"UPDATE_NODE","expectedVersion":1,"payload":{"id":"`+id+`","name":"c"}}`, createEdge(id, id),
		updateNode(id, `"name":"b"`))), http.StatusOK)
	require.Len(t, got.Results, 6)
	for i, want := range []string{"", "NOT_FOUND", "VALIDATION_ERROR", "CONFLICT", "", ""} {
		r := got.Results[i]
		require.Equal(t, i, r.Index)
		if want == "" {
			require.Equal(t, "applied", r.Status)
			require.NotEqual(t, got.BatchID, r.Data.CommandID)
			one := w.state(t, r.Data.CommandID)
			require.Equal(t, "applied", one.Status, "each has a state of its own")
			require.Equal(t, r.Data.CommandID, one.Result.CommandID)
			require.Equal(t, r.Data.Sequence, one.Result.Sequence)
			continue
		}
		require.Equal(t, "failed", r.Status)
		require.Equal(t, want, r.Error.Code)
		require.NotEmpty(t, r.Error.Message)
	}
	require.Equal(t, 2, *got.Results[0].Data.Sequence)
	require.Equal(t, 3, *got.Results[4].Data.Sequence)
	require.Nil(t, got.Results[5].Data.Sequence)
	require.Equal(t, got.Results[4].Data.CommandID, w.mustExecute(t, undo).Target.CommandID, "each is an undo step")
	require.Equal(
		t, got.Results[0].Data.CommandID, w.mustExecute(t, undoOf(got.Results[0].Data.CommandID)).Target.CommandID,
	)
}

func TestABatchHasAThousandCommandsAtMost(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	commands := make([]string, 1001)
	for i := range commands {
		commands[i] = createNode(fmt.Sprintf("node %d", i))
	}
	for _, atomic := range []bool{true, false} {
		w.batch(t, batchOf(atomic, commands...)).RequireFailure(
			t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "commands"},
		)
		w.batch(t, batchOf(atomic)).RequireFailure(
			t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "commands"},
		)
		got := decode[batchResult](t, w.batch(t, batchOf(atomic, commands[:1000]...)), http.StatusOK)
		require.Len(t, got.Results, 1000)
	}
	var list []graphItem
	require.EqualValues(t, 2000, w.Get(t, "/api/queries/nodes", &list).Meta.Total)
	w.mustExecute(t, undoOf(decode[batchResult](t, w.batch(t, batchOf(true, commands[:1000]...)), http.StatusOK).BatchID))
	require.EqualValues(t, 2000, w.Get(t, "/api/queries/nodes", &list).Meta.Total)
}

func TestABatchMayHaveEightMiB(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	command := func(size int) string {
		return `{"type":"CREATE_NODE","payload":{"name":"a","entityType":"object","description":"` +
			strings.Repeat("x", size) + `"}}`
	}
	commands := make([]string, 127)
	for i := range commands {
		commands[i] = command(64 << 10)
	}
	body := batchOf(true, commands...)
	last := 8<<20 - len(body) - len(command(0)) - 1
	require.Positive(t, last)
	body = batchOf(true, append(commands, command(last))...)
	require.Len(t, body, 8<<20)
	got := decode[batchResult](t, w.batch(t, body), http.StatusOK)
	require.Len(t, got.Results, 128)
	w.batch(t, body+" ").RequireFailure(
		t, http.StatusRequestEntityTooLarge, validation, "", map[string]any{"limit": float64(8 << 20)},
	)
	w.execute(t, command(1<<20)).RequireFailure(
		t, http.StatusRequestEntityTooLarge, validation, "", map[string]any{"limit": float64(1 << 20)},
	)
}
