package hooks_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/test/pgtest"
)

// payloads returns the data of the events of a type for a webhook.
func (f *fixture) payloads(webhook uuid.UUID, eventType string) (data []map[string]any) {
	f.Helper()
	rows, err := f.db.Pool().Query(f.Context(), `SELECT payload FROM webhook_deliveries
		WHERE webhook_id = $1 AND event_type = $2 ORDER BY id`, webhook, eventType)
	require.NoError(f, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f, err)
	for _, text := range texts {
		var body struct{ Data map[string]any }
		require.NoError(f, json.Unmarshal([]byte(text), &body))
		data = append(data, body.Data)
	}
	return data
}

func TestEventsOfKeysAreForTheirWorkspaces(t *testing.T) {
	f := newFixture(t)
	w := f.create("w", []string{hooks.KeyCreated, hooks.KeyRevoked}, hooks.Filters{})
	other := pgtest.Workspace(t, f.db, "live").ID
	newKey := func(name string, workspaces ...uuid.UUID) access.Key {
		key, err := f.db.CreateKey(t.Context(), access.NewKey{
			Hash: sha256.Sum256([]byte(name)), Display: "lg_live_" + name, Name: name, Mode: "live", Scopes: []string{"admin"},
			Workspaces: workspaces, CreatedBy: "test",
		})
		require.NoError(t, err)
		return key
	}
	newKey("a", other)
	key := newKey("b", other, f.workspace)
	successor, err := f.db.RollKey(t.Context(), key.ID, sha256.Sum256([]byte("c")), "lg_live_c", "test", time.Hour)
	require.NoError(t, err)
	for range 2 { // the second time changes nothing
		_, err = f.db.RevokeKey(t.Context(), key.ID)
		require.NoError(t, err)
	}
	created, revoked := f.payloads(w.ID, hooks.KeyCreated), f.payloads(w.ID, hooks.KeyRevoked)
	require.Len(t, created, 2)
	require.Len(t, revoked, 1)
	require.Equal(t, key.ID.String(), created[0]["key"].(map[string]any)["id"])
	require.Equal(t, key.ID.String(), created[1]["key"].(map[string]any)["rolledFrom"])
	require.Equal(t, successor.ID.String(), created[1]["key"].(map[string]any)["id"])
	require.NotNil(t, revoked[0]["key"].(map[string]any)["revokedAt"])
	require.NotContains(t, fmt.Sprint(created, revoked), other.String(), "of other workspaces nothing is sent")
}

func TestDeadRecordsAreOneEventForEachWorkspace(t *testing.T) {
	f := newFixture(t)
	w := f.create("w", []string{hooks.PointsDead}, hooks.Filters{})
	var records []hooks.DeadRecord
	for i := range 250 {
		records = append(records, hooks.DeadRecord{
			Workspace: f.workspace, Partition: 3, Offset: int64(i), RequestID: fmt.Sprint("req_", i),
		}, hooks.DeadRecord{Workspace: uuid.New(), Partition: 3, Offset: int64(1000 + i)})
	}
	for range 2 {
		require.NoError(t, f.db.QueueDeadRecords(t.Context(), hooks.PointsDead, records))
	}
	require.NoError(t, f.db.QueueDeadRecords(t.Context(), hooks.CommandsDead, records))
	data := f.payloads(w.ID, hooks.PointsDead)
	require.Len(t, data, 1)
	require.EqualValues(t, 250, data[0]["records"])
	require.Len(t, data[0]["requestIds"], 100)
	require.NoError(t, f.db.QueueDeadRecords(t.Context(), hooks.PointsDead, records[:2]))
	require.Len(t, f.payloads(w.ID, hooks.PointsDead), 2)
}
