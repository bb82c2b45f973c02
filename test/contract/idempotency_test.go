package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/contract"
)

// withIdempotencyKey returns a request with an Idempotency-Key.
func withIdempotencyKey(path, key, body string) contract.Request {
	return contract.Request{
		Method: http.MethodPost, Path: path, Body: body, Header: map[string]string{"Idempotency-Key": key},
	}
}

// requireReplayed checks that the second answer is a replay of the first.
func requireReplayed(t *testing.T, first, second *contract.Answer) {
	t.Helper()
	require.Empty(t, first.Header.Get("Idempotent-Replayed"))
	require.Equal(t, "true", second.Header.Get("Idempotent-Replayed"), "%s", second.Body)
	require.Equal(t, first.Status, second.Status)
	require.Equal(t, first.Header.Get("Location"), second.Header.Get("Location"))
	if first.Success {
		require.JSONEq(t, string(first.Data), string(second.Data))
	} else {
		require.Equal(t, first.Error, second.Error)
	}
	require.NotEqual(t, first.RequestID, second.RequestID)
}

func TestACommandWithAKeyIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	id := w.newNode(t, "a")
	first := w.Do(t, withIdempotencyKey(executePath, "k1", createNode("b")))
	require.Equal(t, http.StatusCreated, first.Status)
	requireReplayed(t, first, w.Do(t, withIdempotencyKey(executePath, "k1", createNode("b"))))
	w.Do(t, withIdempotencyKey(executePath, "k1", createNode("c"))).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)

	// The version has changed by now. The expected version is not checked again for a replay.
	update := `{"type":"UPDATE_NODE","expectedVersion":1,"payload":{"id":"` + id + `","name":"b"}}`
	first = w.Do(t, withIdempotencyKey(executePath, "k2", update))
	require.Equal(t, http.StatusOK, first.Status)
	requireReplayed(t, first, w.Do(t, withIdempotencyKey(executePath, "k2", update)))
	w.execute(t, update).RequireFailure(t, http.StatusConflict, "CONFLICT", "Version mismatch", nil)
	require.Equal(t, 2, w.readNode(t, id).Version)

	for i, body := range []string{
		update, deleteNode(uuid.NewString()), `{"type":"CREATE_NODE","payload":{"name":"","entityType":"object"}}`,
	} {
		key := fmt.Sprintf("refused %d", i)
		key = strings.ReplaceAll(key, " ", "-")
		first := w.Do(t, withIdempotencyKey(executePath, key, body))
		require.Equal(t, []int{409, 404, 422}[i], first.Status)
		requireReplayed(t, first, w.Do(t, withIdempotencyKey(executePath, key, body)))
		w.Do(t, withIdempotencyKey(executePath, key, createNode("x"))).RequireFailure(
			t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
		)
	}
	body := batchOf(false, createNode("c"), deleteNode(uuid.NewString()))
	first = w.Do(t, withIdempotencyKey(batchPath, "k1", body)) // keys of different routes are independent
	require.Equal(t, http.StatusOK, first.Status)
	requireReplayed(t, first, w.Do(t, withIdempotencyKey(batchPath, "k1", body)))
	refused := w.Do(t, withIdempotencyKey(batchPath, "k2", batchOf(true, createNode("c"), deleteNode(uuid.NewString()))))
	require.Equal(t, http.StatusNotFound, refused.Status)

	var list []graphItem
	require.EqualValues(t, 3, w.Get(t, "/api/queries/nodes", &list).Meta.Total)
	var undone []string
	for range 3 {
		undone = append(undone, w.mustExecute(t, undo).Target.Type)
	}
	require.Equal(t, []string{"CREATE_NODE", "UPDATE_NODE", "CREATE_NODE"}, undone)
}

func TestAKeyIsTheActorsAndTheWorkspaces(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	other := w.NewWorkspace(t, "live")
	both := w.NewKey(t, []uuid.UUID{w.Workspace, other}, request.Admin)
	made := map[string]bool{}
	for _, who := range []contract.Request{
		{}, {Key: w.newActorKey(t)}, {Key: both}, {Key: both, Workspace: other.String()},
	} {
		q := withIdempotencyKey(executePath, "k", createNode("a"))
		q.Key, q.Workspace = who.Key, who.Workspace
		made[decode[commandResult](t, w.Do(t, q), http.StatusCreated).Node.ID] = true
		require.Equal(t, "true", w.Do(t, q).Header.Get("Idempotent-Replayed"))
	}
	require.Len(t, made, 4)
}

func TestAnswersThatAreNotKeptLeaveTheKeyFree(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	nodes := w.newActorKey(t, request.WriteNodes)
	edge := w.mustExecute(t, createEdge(w.newNode(t, "a"), w.newNode(t, "b")))
	for i, body := range []string{
		`{"type":"CREATE_NODE"}`, `{"type":"DELETE_EDGE","payload":{"id":"` + edge.Edge.ID + `"}}`, undoOf(edge.CommandID),
	} {
		q := withIdempotencyKey(executePath, fmt.Sprint("k", i), body)
		q.Key = nodes
		refused := w.Do(t, q)
		require.Equal(t, []int{400, 403, 403}[i], refused.Status)
		require.Equal(t, refused.Error.Code, w.Do(t, q).Error.Code)
		require.Empty(t, w.Do(t, q).Header.Get("Idempotent-Replayed"))
		q.Body = createNode("a")
		require.Equal(t, http.StatusCreated, w.Do(t, q).Status)
	}
}

// TestARetryUnderItsKeyAndItsDeadLetterPutBackAreOneEffect makes commands fail internally:
// each becomes a dead letter, and its caller is asked to try again.
func TestARetryUnderItsKeyAndItsDeadLetterPutBackAreOneEffect(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	conn, err := pgx.Connect(t.Context(), w.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	desk := pipelineadmin.New(w.Log, w.DB)
	redrive := func() pipelineadmin.DeadLetterResult {
		result, err := desk.Redrive(
			t.Context(),
			pipelineadmin.DeadLetterRequest{
				Again: true, RequestedBy: "somebody", Filter: pipelineadmin.DeadLetterFilter{Topics: []string{kafka.TopicCommands}},
			},
			nil,
		)
		require.NoError(t, err)
		return result
	}
	retry := func(q contract.Request) *contract.Answer {
		a := w.Do(t, q)
		require.Equal(t, 2, a.Status/100, "%s", a.Body)
		return a
	}
	for i, first := range []string{"retry", "redrive"} {
		for j, c := range []struct{ path, body string }{
			{executePath, createNode("poison")},
			{batchPath, batchOf(true, createNode("poison"))},
			{batchPath, batchOf(false, createNode("poison"))},
		} {
			name := fmt.Sprintf("%s first, case %d", first, j)
			_, err = conn.Exec(t.Context(), `ALTER TABLE nodes ADD CONSTRAINT good CHECK (name <> 'poison') NOT VALID`)
			require.NoError(t, err)
			q := withIdempotencyKey(c.path, fmt.Sprintf("k%d-%d", i, j), c.body)
			for range 2 { // the retry fails again
				failed := w.Do(t, q)
				failed.RequireFailure(t, http.StatusInternalServerError, "INTERNAL_ERROR", "", nil)
				require.Equal(t, failed.Error.Details["commandId"], w.Do(t, q).Error.Details["commandId"], name)
			}
			id := w.Do(t, q).Error.Details["commandId"].(string)
			_, err = conn.Exec(t.Context(), `ALTER TABLE nodes DROP CONSTRAINT good`)
			require.NoError(t, err)
			before := w.countNodes(t, conn)
			if first == "redrive" {
				redrive()
				require.Eventually(t, func() bool {
					return w.state(t, id).Status == "applied"
				}, time.Minute, 10*time.Millisecond, name)
			}
			a := retry(q)
			require.Contains(t, string(a.Data), id, "%s: it is the same command", name)
			result := redrive()
			require.Zero(t, result.Counts[pipelineadmin.OutcomeRedriven], "%s: it was decided after all", name)
			requireSame(t, a, retry(q))
			w.newNode(t, "after") // when it is applied, all earlier commands of the workspace are decided
			require.Equal(t, before+2, w.countNodes(t, conn), name)
		}
	}
}

// requireSame checks that an answer is a replay with the data of an earlier one.
func requireSame(t *testing.T, before, again *contract.Answer) {
	t.Helper()
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.JSONEq(t, string(before.Data), string(again.Data))
}

// countNodes returns the number of nodes of all workspaces.
func (w *writer) countNodes(t *testing.T, conn *pgx.Conn) (count int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM nodes`).Scan(&count))
	return count
}

func TestAKeyHasTheRightForm(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	longest := strings.Repeat("~", 255)
	for key, status := range map[string]int{
		"!": 201, longest: 201, longest + "x": 400, "a b": 400, "é": 400, "\u00a0": 400, "a\tb": 400,
	} {
		q := withIdempotencyKey("/api/live-data/sources", key, `{"name":"`+uuid.NewString()+`"}`)
		a := l.Do(t, q)
		require.Equal(t, status, a.Status, key)
		if status == 400 {
			a.RequireFailure(t, 400, validation, "", map[string]any{"field": "Idempotency-Key"})
		}
	}
	for _, header := range []string{"Idempotency-Key: \r\n", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n"} {
		conn := dial(t, l.Server)
		conn.send(
			conn.head("POST", "/api/live-data/sources") + "Content-Type: application/json\r\nContent-Length: 12\r\n" + header +
				"\r\n{\"name\":\"a\"}",
		)
		status, code, _ := conn.receive()
		require.Equal(t, []any{400, validation}, []any{status, code}, header)
	}
}

func TestWhileTheFirstRunsARepetitionIsAConflictAndThenItsOutcome(t *testing.T) {
	t.Parallel()
	group := &contract.Commands{WithoutConsumer: true}
	w := startCommandsWith(t, group)
	q := withIdempotencyKey(executePath, "k", createNode("a"))
	q.Header["Prefer"] = "wait=0"
	first := w.Do(t, q)
	first.RequireFailure(t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "", nil)
	id := first.Error.Details["commandId"]
	require.NotEmpty(t, id)

	patient := withIdempotencyKey(executePath, "k", createNode("a"))
	patient.Header["Prefer"] = "wait=30"
	answers := make(chan *contract.Answer, 1)
	go func() { // continues after the first request has timed out
		for {
			if a := w.Do(t, patient); a.Status != http.StatusConflict { // a conflict while q below holds the key
				answers <- a
				return
			}
		}
	}()
	require.Eventually(t, func() bool {
		a := w.Do(t, q)
		if a.Status == http.StatusConflict {
			require.Equal(t, "1", a.Header.Get("Retry-After"))
			require.Equal(t, "still_running", a.Error.Details["reason"])
			return true
		}
		require.Equal(t, id, a.Error.Details["commandId"], "it is the same command")
		return false
	}, time.Minute, time.Millisecond)
	w.RunConsumer(t, w.Server)
	made := decode[commandResult](t, <-answers, http.StatusCreated)
	require.Equal(t, id, made.CommandID)
	replayed := w.Do(t, q)
	require.Equal(t, "true", replayed.Header.Get("Idempotent-Replayed"))
	require.Equal(t, made, decode[commandResult](t, replayed, http.StatusCreated))
	var list []graphItem
	require.EqualValues(
		t, 1, w.Get(t, "/api/queries/nodes", &list).Meta.Total, "the record is in the log several times and is done once",
	)
}

func TestManyAtOnceWithOneKeyAreOne(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	made := make([]string, 16)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			for made[i] == "" {
				if a := w.Do(t, withIdempotencyKey(executePath, "k", createNode("a"))); a.Status == http.StatusCreated {
					made[i] = decode[commandResult](t, a, http.StatusCreated).Node.ID
				}
			}
		})
	}
	all.Wait()
	for _, id := range made {
		require.Equal(t, made[0], id)
	}
	require.Equal(t, 2, *w.mustExecute(t, createNode("b")).Sequence)
}

func TestASourceWithAKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	const path = "/api/live-data/sources"
	first := l.Do(t, withIdempotencyKey(path, "k", `{"name":"boiler"}`))
	require.Equal(t, http.StatusCreated, first.Status)
	requireReplayed(t, first, l.Do(t, withIdempotencyKey(path, "k", `{"name":"boiler"}`)))
	l.Do(t, withIdempotencyKey(path, "k", `{"name":"kettle"}`)).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)
	taken := l.Do(t, withIdempotencyKey(path, "k2", `{"name":"boiler"}`))
	require.Equal(t, http.StatusConflict, taken.Status)
	made := decode[source](t, first, http.StatusCreated)
	require.Equal(
		t, http.StatusNoContent, l.Do(t, contract.Request{Method: http.MethodDelete, Path: path + "/" + made.ID}).Status,
	)
	requireReplayed(t, taken, l.Do(t, withIdempotencyKey(path, "k2", `{"name":"boiler"}`)))
	requireReplayed(t, first, l.Do(t, withIdempotencyKey(path, "k", `{"name":"boiler"}`)))

	l.Do(t, withIdempotencyKey(path, "k3", `{"name":1}`)).RequireFailure(t, http.StatusBadRequest, validation, "", nil)
	require.Equal(t, http.StatusCreated, l.Do(t, withIdempotencyKey(path, "k3", `{"name":"boiler"}`)).Status)
}

func TestPointsWithAKeyKeepTheirTimeOfReceipt(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	l.createSource(t, `{"name":"boiler"}`)
	body := `{"source":"boiler","points":[{"metric":"temp","value":1}]}`
	first := l.Do(t, withIdempotencyKey(ingestPath, "k", body))
	require.Equal(t, http.StatusCreated, first.Status)
	requireReplayed(t, first, l.Do(t, withIdempotencyKey(ingestPath, "k", body)))
	l.Do(t, withIdempotencyKey(ingestPath+"?strict=true", "k", body)).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)
	require.Len(t, readPointsLog(t, l.broker), 1)

	// As after a crash between the produce and the answer: no answer is stored.
	conn, err := pgx.Connect(t.Context(), l.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), `UPDATE idempotency_keys SET answer = NULL, running_until = now()`)
	require.NoError(t, err)
	again := l.Do(t, withIdempotencyKey(ingestPath, "k", body))
	require.Equal(t, http.StatusCreated, again.Status)
	require.Empty(t, again.Header.Get("Idempotent-Replayed"), "it was done again")
	lines := readPointsLog(t, l.broker)
	require.Len(t, lines, 2)
	require.Equal(t, lines[0], lines[1], "at the same time")

	none := l.Do(t, withIdempotencyKey(ingestPath, "k2", `{"source":"nobody","points":[{"metric":"temp","value":1}]}`))
	require.Equal(t, http.StatusUnprocessableEntity, none.Status)
	l.createSource(t, `{"name":"nobody"}`)
	requireReplayed(t, none, l.Do(t, withIdempotencyKey(
		ingestPath, "k2", `{"source":"nobody","points":[{"metric":"temp","value":1}]}`,
	)))
	l.Do(t, withIdempotencyKey(ingestPath, "k3", `{"points":1}`)).RequireFailure(
		t, http.StatusBadRequest, validation, "", nil,
	)
	require.Equal(t, http.StatusCreated, l.Do(t, withIdempotencyKey(ingestPath, "k3", body)).Status)
}

func TestAKeyMeansNothingAfterADay(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	conn, err := pgx.Connect(t.Context(), l.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	first := decode[source](
		t, l.Do(t, withIdempotencyKey("/api/live-data/sources", "k", `{"name":"a"}`)), http.StatusCreated,
	)
	_, err = conn.Exec(t.Context(), `UPDATE idempotency_keys SET created_at = created_at - interval '1 day'`)
	require.NoError(t, err)
	second := l.Do(t, withIdempotencyKey("/api/live-data/sources", "k", `{"name":"b"}`))
	require.NotEqual(t, first.ID, decode[source](t, second, http.StatusCreated).ID)
	_, err = conn.Exec(t.Context(), `UPDATE idempotency_keys SET created_at = created_at - interval '1 day'`)
	require.NoError(t, err)
	pruned, err := l.DB.PruneIdempotencyKeys(t.Context(), 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, pruned)
	var kept json.RawMessage
	require.ErrorIs(t, conn.QueryRow(t.Context(), `SELECT to_json(k) FROM idempotency_keys k`).Scan(&kept), pgx.ErrNoRows)
}
