package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// patchWithKey returns a change of a source with an Idempotency-Key.
func patchWithKey(id, key, body string) contract.Request {
	q := withIdempotencyKey("/api/live-data/sources/"+id, key, body)
	q.Method = http.MethodPatch
	return q
}

func TestASourceWithAKeyIsChangedOnce(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	const change = `{"expectedVersion":1,"description":"in the cellar"}`
	first := l.Do(t, patchWithKey(made.ID, "k", change))
	require.Equal(t, 2, decode[source](t, first, http.StatusOK).Version)
	requireReplayed(t, first, l.Do(t, patchWithKey(made.ID, "k", change)))
	l.Do(t, patchWithKey(made.ID, "k", `{"description":"elsewhere"}`)).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)
	other := l.createSource(t, `{"name":"pump"}`)
	l.Do(t, patchWithKey(other.ID, "k", change)).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "Idempotency-Key"},
	)
	var now source
	l.Get(t, "/api/live-data/sources/"+other.ID, &now)
	require.Equal(t, 1, now.Version, "the key was used for another source")

	mismatch := l.Do(t, patchWithKey(made.ID, "k2", change))
	mismatch.RequireFailure(t, http.StatusConflict, "CONFLICT", "Version mismatch", nil)
	requireReplayed(t, mismatch, l.Do(t, patchWithKey(made.ID, "k2", change)))
	unknown := l.Do(t, patchWithKey(uuid.NewString(), "k3", change))
	unknown.RequireFailure(t, http.StatusNotFound, "NOT_FOUND", "", nil)
	invalid := l.Do(t, patchWithKey(made.ID, "k4", `{"name":""}`))
	invalid.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "name"})
	requireReplayed(t, invalid, l.Do(t, patchWithKey(made.ID, "k4", `{"name":""}`)))
	l.Do(t, patchWithKey(made.ID, "k5", `{"name":1}`)).RequireFailure(t, http.StatusBadRequest, validation, "", nil)
	renamed := l.Do(t, patchWithKey(made.ID, "k5", `{"name":"kettle"}`))
	require.Equal(t, "kettle", decode[source](t, renamed, http.StatusOK).Name, "a key of a malformed request is free")
	for _, key := range []string{"a b", strings.Repeat("k", 256)} {
		l.Do(t, patchWithKey(made.ID, key, change)).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "Idempotency-Key"},
		)
	}
	l.Get(t, "/api/live-data/sources/"+made.ID, &now)
	require.Equal(t, 3, now.Version, "two changes")
}

// A key that is held without a response, as after a crash before the change, is taken over by the retry.
func TestAChangeOfASourceIsMadeByTheRetry(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	const change = `{"unit":"bar"}`
	first := decode[source](t, l.Do(t, patchWithKey(made.ID, "k", change)), http.StatusOK)
	conn, err := pgx.Connect(t.Context(), l.Postgres)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	forget := func(runningUntil string) {
		tag, err := conn.Exec(
			t.Context(), `UPDATE idempotency_keys SET answer = NULL, running_until = now() + $1::interval`, runningUntil,
		)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected())
	}
	forget("1 minute")
	running := l.Do(t, patchWithKey(made.ID, "k", change))
	running.RequireFailure(t, http.StatusConflict, "CONFLICT", "", map[string]any{"reason": "still_running"})
	require.NotEmpty(t, running.Header.Get("Retry-After"))
	forget("0")
	again := l.Do(t, patchWithKey(made.ID, "k", change))
	require.Empty(t, again.Header.Get("Idempotent-Replayed"), "it was done again")
	require.Equal(t, first.Version, decode[source](t, again, http.StatusOK).Version, "the same change changes nothing")
	requireReplayed(t, again, l.Do(t, patchWithKey(made.ID, "k", change)))
}
