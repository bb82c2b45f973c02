package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/test/contract"
)

// deletedDocument is the answer to a deletion of a document.
type deletedDocument struct{ ID, ExternalID, Status, CommandID string }

// deleteWithKey returns a deletion of a document with an Idempotency-Key.
func deleteWithKey(name, key string) contract.Request {
	q := withIdempotencyKey(documentsPath+"/"+name, key, "")
	q.Method = http.MethodDelete
	return q
}

func TestADocumentWithAKeyIsDeletedOnce(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	send := func(name string) putResult {
		return w.put(t, documentInput{"externalId": name, "text": sentences(0, 40)})[0]
	}
	sent := send("doc")
	send("other")
	first := w.Do(t, deleteWithKey("doc", "k"))
	deleted := decode[deletedDocument](t, first, http.StatusOK)
	require.Equal(t, deletedDocument{sent.ID, "doc", "deleted", deleted.CommandID}, deleted)
	requireReplayed(t, first, w.Do(t, deleteWithKey("doc", "k")))
	w.Do(t, deleteWithKey("other", "k")).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)
	w.document(t, "other")

	// A document that exists again is not deleted by the repetition.
	w.mustExecute(t, `{"type":"UNDO","payload":{"commandId":"`+deleted.CommandID+`"}}`)
	requireReplayed(t, first, w.Do(t, deleteWithKey("doc", "k")))
	w.document(t, "doc")
	second := decode[deletedDocument](t, w.Do(t, deleteWithKey("doc", "k2")), http.StatusOK)
	require.NotEqual(t, deleted.CommandID, second.CommandID)

	unknown := w.Do(t, deleteWithKey("nothing", "k3"))
	unknown.RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "No such document", nil)
	send("nothing")
	requireReplayed(t, unknown, w.Do(t, deleteWithKey("nothing", "k3")))
	w.document(t, "nothing")
	for _, key := range []string{"a b", strings.Repeat("k", 256)} {
		w.Do(t, deleteWithKey("nothing", key)).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "Idempotency-Key"},
		)
	}
	bad := deleteWithKey("nothing?a=b", "k4")
	w.Do(t, bad).RequireFailure(t, http.StatusBadRequest, validation, "", nil)
	require.Equal(t, http.StatusOK, w.Do(t, deleteWithKey("nothing", "k4")).Status, "the key is still free")
}

// A key that is held without a response, as after a crash after the command was applied, is taken over by the retry.
func TestARetryFindsTheDeletionOfADocument(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	conn, err := pgx.Connect(t.Context(), w.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	forget := func(runningUntil string) {
		tag, err := conn.Exec(
			t.Context(), `UPDATE idempotency_keys SET answer = NULL, running_until = now() + $1::interval`, runningUntil,
		)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())
	}
	send := func() string { return w.put(t, documentInput{"externalId": "a/b", "text": sentences(0, 40)})[0].ID }
	id := send()
	first := decode[deletedDocument](t, w.Do(t, deleteWithKey(id, "k")), http.StatusOK)
	forget("1 minute")
	running := w.Do(t, deleteWithKey(id, "k"))
	running.RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "still_running"})
	require.NotEmpty(t, running.Header.Get("Retry-After"))
	forget("0")
	again := w.Do(t, deleteWithKey(id, "k"))
	require.Empty(t, again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, first, decode[deletedDocument](t, again, http.StatusOK), "the command of the first request")
	requireReplayed(t, again, w.Do(t, deleteWithKey(id, "k")))

	// The first command of a request can be refused because the document changed meanwhile. The next has another id,
	// which a retry finds, too, also if there is another document by now.
	_, err = conn.Exec(t.Context(), `DELETE FROM idempotency_keys`)
	require.NoError(t, err)
	send()
	second := decode[deletedDocument](t, w.Do(t, deleteWithKey("a%2Fb", "k")), http.StatusOK)
	var reserved uuid.UUID
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT reserved_id FROM idempotency_keys`).Scan(&reserved))
	require.Equal(t, reserved.String(), second.CommandID)
	created := send()
	forget("0")
	require.Equal(t, second, decode[deletedDocument](t, w.Do(t, deleteWithKey("a%2Fb", "k")), http.StatusOK))
	require.Equal(t, created, w.document(t, "a/b").ID, "the new document is not deleted")
	refuseFirst(t, conn, reserved)
	forget("0")
	third := decode[deletedDocument](t, w.Do(t, deleteWithKey("a%2Fb", "k")), http.StatusOK)
	require.NotEqual(t, second.CommandID, third.CommandID)
	require.Equal(t, created, third.ID)
	forget("0")
	require.Equal(t, third, decode[deletedDocument](t, w.Do(t, deleteWithKey("a%2Fb", "k")), http.StatusOK))
}

// refuseFirst replaces the outcome of a command by a refusal.
func refuseFirst(t *testing.T, conn *pgx.Conn, id uuid.UUID) {
	t.Helper()
	outcome, err := graphrecord.EncodeOutcome(&eventsv1.Outcome{
		Id: id[:], Failure: graphrecord.FromFault(fault.New(fault.Conflict, "Version mismatch")),
	})
	require.NoError(t, err)
	tag, err := conn.Exec(t.Context(), `UPDATE command_outcomes SET outcome = $1 WHERE command_id = $2`, outcome, id)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
}
