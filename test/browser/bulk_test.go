package browser

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

// createMany creates many workspaces, or many keys of one, in one statement, because requests would
// take minutes. The workspaces are newer than all others. The keys are older than all others, or newer
// if the body requests it.
func createMany(t *testing.T, s *harness.Server, body map[string]any) {
	t.Helper()
	if count, ok := body["workspaces"].(float64); ok {
		execPostgres(t, s, `
			INSERT INTO workspaces (id, name, plan, mode, created_at)
			SELECT gen_random_uuid(), 'Crowd ' || i, 'starter', 'live', now() + i * interval '1 second'
			FROM generate_series(1, $1::int) i`, int(count))
		return
	}
	age := -1 // sign of the time difference
	if newer, _ := body["newer"].(bool); newer {
		age = 1
	}
	execPostgres(t, s, `
		WITH made AS (
			INSERT INTO api_keys (id, hash, display, name, mode, scopes, actor_id, created_by, created_at)
			SELECT gen_random_uuid(), sha256(('crowd ' || i)::bytea), 'lg_live_crwd', 'crowd ' || i, w.mode, '{read:nodes}',
			       gen_random_uuid(), 'crowd', now() + $3::int * (interval '1 hour' + i * interval '1 second')
			FROM generate_series(1, $2::int) i, workspaces w WHERE w.id = $1::uuid
			RETURNING id)
		INSERT INTO api_key_workspaces (key_id, workspace_id) SELECT id, $1::uuid FROM made`,
		body["workspace"], int(body["count"].(float64)), age)
}

// deleteMany deletes everything that createMany created.
func deleteMany(t *testing.T, s *harness.Server) {
	t.Helper()
	execPostgres(t, s, `DELETE FROM api_keys WHERE created_by = 'crowd'`)
	execPostgres(t, s, `DELETE FROM workspaces WHERE name LIKE 'Crowd %'`)
}

func execPostgres(t *testing.T, s *harness.Server, statement string, values ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.RunFile().PostgresURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), statement, values...)
	require.NoError(t, err)
}
