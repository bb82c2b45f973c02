package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/test/contract"
)

// upsertResult is the answer to an upsert.
type upsertResult struct {
	commandResult
	Effect string
}

func upsertNode(key, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"type":"UPSERT_NODE","payload":{"key":` + key + `,"entityType":"object"` + members + `}}`
}

// upsertEdge returns an upsert of an edge to a node with an id.
func upsertEdge(source, target string) string {
	return `{"type":"UPSERT_EDGE","payload":{` + source + `,"targetId":"` + target + `","relationType":"feeds"}}`
}

func (w *writer) upsert(t testing.TB, body, effect string) upsertResult {
	t.Helper()
	status := http.StatusOK
	if effect == "created" {
		status = http.StatusCreated
	}
	a := w.execute(t, body)
	r := decode[upsertResult](t, a, status)
	require.Equal(t, effect, r.Effect)
	switch {
	case status != http.StatusCreated:
		require.Empty(t, a.Header.Get("Location"))
	case r.Node != nil:
		require.Equal(t, "/api/queries/nodes/"+r.Node.ID, a.Header.Get("Location"))
	default:
		require.Equal(t, "/api/queries/edges/"+r.Edge.ID, a.Header.Get("Location"))
	}
	return r
}

func TestAnUpsertCreatesANodeOnceAndThenChangesIt(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	made := w.upsert(t, upsertNode(`{"serial":"SN-7"}`, `"properties":{"site":"north","gone":null}`), "created")
	require.Equal(t, "UPSERT_NODE", made.Type)
	require.Equal(t, []any{"SN-7", 1}, []any{made.Node.Name, made.Node.Version}, "the key is the name")
	require.Equal(t, map[string]any{"serial": "SN-7", "site": "north"}, made.Node.Properties)
	require.Equal(t, made.Node, w.readNode(t, made.Node.ID), "a read after the answer sees it")

	changed := w.upsert(t, upsertNode(
		`{"serial":"SN-7"}`, `"name":"Pump 7","description":"d","properties":{"site":null,"serial":"SN-7","kW":11}`,
	), "updated")
	require.Equal(t, []any{made.Node.ID, 2, "Pump 7"}, []any{changed.Node.ID, changed.Node.Version, changed.Node.Name})
	require.Equal(t, map[string]any{"serial": "SN-7", "kW": 11.0}, changed.Node.Properties)

	same := w.upsert(t, upsertNode(`{"serial":"SN-7"}`, `"name":"Pump 7","properties":{"kW":11.0}`), "unchanged")
	require.Nil(t, same.Sequence)
	require.Equal(t, changed.Node, same.Node)
	require.Equal(t, changed.UndoDepth, same.UndoDepth)

	state := decode[struct {
		Status string
		Result upsertResult
	}](t, w.Do(t, contract.Request{Path: "/api/commands/" + changed.CommandID}), http.StatusOK)
	require.Equal(t, changed, state.Result)

	w.upsert(t, upsertNode(`{"serial":7}`, ""), "created")
	w.upsert(t, upsertNode(`{"serial":7.0}`, ""), "unchanged")
	w.upsert(t, upsertNode(`{"serial":"7"}`, ""), "created")
	w.upsert(t, strings.Replace(upsertNode(`{"serial":"SN-7"}`, ""), "object", "actor", 1), "created")
}

func TestAnUpsertFindsWhatOtherCommandsWrote(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	w.upsert(t, upsertNode(`{"mail":"first"}`, ""), "created") // from now on the property is in the index
	before := w.mustExecute(t, `{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object",
		"properties":{"url":"https://example.org/ö?a=\"b\"\\","mail":"second"}}}`).Node.ID
	for _, key := range []string{`{"url":"https://example.org/ö?a=\"b\"\\"}`, `{"mail":"second"}`} {
		require.Equal(t, before, w.upsert(t, upsertNode(key, ""), "unchanged").Node.ID)
	}
	w.mustExecute(t, updateNode(before, `"properties":{"mail":"third"}`))
	other := w.upsert(t, upsertNode(`{"mail":"second"}`, ""), "created").Node.ID
	w.mustExecute(t, undo)
	require.Equal(t, before, w.upsert(t, upsertNode(`{"mail":"third"}`, ""), "unchanged").Node.ID)
	w.mustExecute(t, undo)
	require.Equal(t, before, w.upsert(t, upsertNode(`{"mail":"second"}`, ""), "unchanged").Node.ID)
	w.mustExecute(t, deleteNode(before))
	require.NotContains(t, []string{before, other}, w.upsert(t, upsertNode(`{"mail":"second"}`, ""), "created").Node.ID)

	twin := w.mustExecute(t, `{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object",
		"properties":{"mail":"first"}}}`)
	a := w.execute(t, upsertNode(`{"mail":"first"}`, `"name":"x"`))
	a.RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{
		"reason": "ambiguous", "field": "payload.key",
	})
	require.Contains(t, string(a.Body), twin.Node.ID)
}

func TestAnUpsertIsUndoneAndRecordedAsTheCommandThatItWas(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	made := w.upsert(t, upsertNode(`{"serial":"a"}`, ""), "created")
	changed := w.upsert(t, upsertNode(`{"serial":"a"}`, `"name":"b"`), "updated")
	undone := w.mustExecute(t, undo)
	require.Equal(t, []string{changed.CommandID, "UPDATE_NODE"}, []string{undone.Target.CommandID, undone.Target.Type})
	require.Equal(t, "a", undone.Node.Name)
	undone = w.mustExecute(t, undo)
	require.Equal(t, []string{made.CommandID, "CREATE_NODE"}, []string{undone.Target.CommandID, undone.Target.Type})
	require.Nil(t, w.readNode(t, made.Node.ID))
	w.mustExecute(t, `{"type":"REDO"}`)
	require.Equal(t, "updated", w.upsert(t, upsertNode(`{"serial":"a"}`, `"name":"c"`), "updated").Effect)

	history := decode[[]struct{ Type, CommandID string }](
		t, w.Do(t, contract.Request{Path: "/api/queries/history?nodeId=" + made.Node.ID}), http.StatusOK,
	)
	var types []string
	for _, change := range history {
		types = append(types, change.Type)
	}
	require.Equal(t, []string{"UPDATE_NODE", "REDO", "UNDO", "UNDO", "UPDATE_NODE", "CREATE_NODE"}, types)
}

func TestConcurrentUpsertsOfAKeyCreateOneNode(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	var mu sync.Mutex
	effects, ids := map[string]int{}, map[string]int{}
	var done sync.WaitGroup
	for i := range 20 {
		done.Go(func() {
			a := w.execute(t, upsertNode(`{"serial":"a"}`, fmt.Sprintf(`"properties":{"n%d":1}`, i)))
			r := decode[upsertResult](t, a, a.Status)
			mu.Lock()
			defer mu.Unlock()
			effects[r.Effect]++
			ids[r.Node.ID]++
		})
	}
	done.Wait()
	require.Equal(t, map[string]int{"created": 1, "updated": 19}, effects)
	require.Len(t, ids, 1)
	for id := range ids {
		require.Equal(t, 20, w.readNode(t, id).Version)
		require.Len(t, w.readNode(t, id).Properties, 21)
	}
}

func TestUpsertsOfABatchSeeEachOther(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	keyed := func(end, serial string) string {
		return `"` + end + `":{"key":{"serial":"` + serial + `"},"entityType":"object"}`
	}
	feeds := `{"type":"UPSERT_EDGE","payload":{` + keyed("source", "a") + `,` + keyed("target", "b") +
		`,"relationType":"feeds","properties":{"w":1}}}`
	body := func(atomic bool) string {
		return fmt.Sprintf(`{"atomic":%t,"commands":[%s]}`, atomic, strings.Join([]string{
			upsertNode(`{"serial":"a"}`, ""), upsertNode(`{"serial":"b"}`, ""), feeds,
			upsertNode(`{"serial":"a"}`, `"name":"A"`), feeds,
		}, ","))
	}
	type results struct {
		Results []struct{ Data upsertResult }
	}
	effects := func(a *contract.Answer) (found []string, r results) {
		r = decode[results](t, a, http.StatusOK)
		for _, result := range r.Results {
			found = append(found, result.Data.Effect)
		}
		return found, r
	}
	got, first := effects(w.batch(t, body(true)))
	require.Equal(t, []string{"created", "created", "created", "updated", "unchanged"}, got)
	require.Equal(t, first.Results[0].Data.Node.ID, first.Results[3].Data.Node.ID)
	require.Equal(t, first.Results[0].Data.Node.ID, first.Results[2].Data.Edge.SourceID)
	got, _ = effects(w.batch(t, body(false)))
	require.Equal(t, []string{"unchanged", "unchanged", "unchanged", "unchanged", "unchanged"}, got)
	w.mustExecute(t, undo) // of the whole atomic batch
	got, _ = effects(w.batch(t, body(false)))
	require.Equal(t, []string{"created", "created", "created", "updated", "unchanged"}, got)
}

func TestAnUpsertOfAnEdgeNeedsItsEnds(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	a, b := w.newNode(t, "a"), w.newNode(t, "b")
	made := w.upsert(t, upsertEdge(`"sourceId":"`+a+`"`, b), "created")
	require.Equal(t, []string{a, b}, []string{made.Edge.SourceID, made.Edge.TargetID})
	require.Equal(t, made.Edge.ID, w.upsert(t, upsertEdge(`"sourceId":"`+a+`"`, b), "unchanged").Edge.ID)
	w.upsert(t, upsertEdge(`"sourceId":"`+b+`"`, a), "created")
	for field, body := range map[string]string{
		"payload.sourceId":   upsertEdge(`"sourceId":"`+unknownID()+`"`, b),
		"payload.targetId":   upsertEdge(`"sourceId":"`+a+`"`, "x"),
		"payload.source.key": upsertEdge(`"source":{"key":{"serial":"none"},"entityType":"object"}`, b),
	} {
		w.execute(t, body).RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", map[string]any{"field": field})
	}
	w.newEdge(t, a, b)
	w.execute(t, upsertEdge(`"sourceId":"`+a+`"`, b)).RequireFailure(
		t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "ambiguous", "field": "payload.relationType"},
	)
}

func TestARepeatedUpsertWithAnIdempotencyKeyHasTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	body := upsertNode(`{"serial":"a"}`, "")
	first := w.Do(t, withIdempotencyKey(executePath, "k1", body))
	require.Equal(t, "created", decode[upsertResult](t, first, http.StatusCreated).Effect)
	requireReplayed(t, first, w.Do(t, withIdempotencyKey(executePath, "k1", body)))
	w.upsert(t, body, "unchanged")
}

func TestKeysOfOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	mine := w.upsert(t, upsertNode(`{"serial":"a"}`, ""), "created")
	other := w.NewWorkspace(t, "live")
	theirs := decode[upsertResult](t, w.Do(t, contract.Request{
		Method: http.MethodPost, Path: executePath, Workspace: other.String(), Body: upsertNode(`{"serial":"a"}`, ""),
		Key: w.NewKey(t, []uuid.UUID{other}, request.Admin),
	}), http.StatusCreated)
	require.NotEqual(t, mine.Node.ID, theirs.Node.ID)
}

func TestAWorkspaceHasAMaximumOfKeyProperties(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	var commands []string
	for i := range 64 {
		commands = append(commands, upsertNode(fmt.Sprintf(`{"p%02d":1}`, i), ""))
	}
	require.Equal(t, http.StatusOK, w.batch(t, `{"commands":[`+strings.Join(commands, ",")+`]}`).Status)
	w.execute(t, upsertNode(`{"more":1}`, "")).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "payload.key"},
	)
	w.upsert(t, upsertNode(`{"p63":1}`, ""), "unchanged")
}
