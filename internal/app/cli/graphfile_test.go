package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

func TestAGraphIsExportedAsAFileThatIsGoodForAnImport(t *testing.T) {
	_, ok, bad := commandLine(t)
	db, err := pgx.Connect(t.Context(), os.Getenv("LIVEGRAPH_POSTGRES_URL"))
	require.NoError(t, err)
	defer func() { _ = db.Close(t.Context()) }()
	run := func(statement string, args ...any) {
		_, err := db.Exec(t.Context(), statement, args...)
		require.NoError(t, err)
	}
	workspace := decode[access.Workspace](t, ok("workspaces", "create", "--name", "plant", "--json")).ID
	node, edge := uuid.New(), uuid.New()
	run(
		`INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version, changed_by,
			created_by)
		VALUES ($1, $2, 'Pump 7 <&>', 'object', '{"power": 5.5}', '2026-11-21T07:40:08.290296Z',
		'2026-11-21T07:40:08.290296Z', 3, 1, 1)`, workspace, node,
	)
	run(
		`INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version,
			changed_by, created_by, newest)
		VALUES ($1, $2, $3, $3, 'feeds', now(), now(), 1, 1, 1, 1)`, workspace, edge, node,
	)
	run(`INSERT INTO graph_totals VALUES ($1, 1, 'object', 1), ($1, 2, 'feeds', 1)`, workspace)
	run(`INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 9)`, workspace)

	path := filepath.Join(t.TempDir(), "plant.ndjson")
	require.Contains(
		t, ok("export", "--workspace", workspace.String(), "--output", path), "exported 1 node and 1 edge, up to sequence 9",
	)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	var lines []string
	for scan := bufio.NewScanner(strings.NewReader(string(written))); scan.Scan(); {
		lines = append(lines, scan.Text())
	}
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], `{"graph":{"format":1,"workspaceId":"`+workspace.String()+`"`)
	require.Equal(t, `{"node":{"id":"`+
		node.String()+`","name":"Pump 7 <&>","entityType":"object","description":null,"properties":{"power":5.5},`+
		`"createdAt":"2026-11-21T07:40:08.290296Z","updatedAt":"2026-11-21T07:40:08.290296Z","version":3}}`, lines[1])
	require.Contains(t, lines[2], edge.String())

	printed := ok("export", "--workspace", workspace.String())
	require.Equal(t, lines[1:], strings.Split(strings.TrimSpace(printed), "\n")[1:], "the standard output is the file")

	require.Contains(t, ok("import", path, "--check"), "the file is good: 1 node and 1 edge")
	require.Contains(t, bad("import", path, "--workspace", workspace.String()), "no server runs on")
	require.NoError(t, os.WriteFile(path, written[:len(written)-5], 0o600))
	require.Contains(t, bad("import", path), "nothing was imported: 1 line is no good")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines[:2], "\n")), 0o600))
	require.Contains(t, bad("import", path, "--check"), "no good")

	summary := decode[exportSummary](t, ok("export", "--workspace", workspace.String(), "-o", path, "--json"))
	require.Equal(t, exportSummary{WorkspaceID: workspace, Output: path, Sequence: 9, Nodes: 1, Edges: 1}, summary)
}

func TestInvalidExportsAndImportsReportWhy(t *testing.T) {
	_, _, bad := commandLine(t)
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"No workspace":       {"export", "--workspace", uuid.NewString(), "-o", filepath.Join(dir, "x")},
		"needs --output":     {"export", "--json"},
		"name the workspace": {"export", "--data-dir", dir},
		"no such file":       {"import", filepath.Join(dir, "none")},
		"--from-line":        {"import", filepath.Join(dir, "none"), "--from-line", "0"},
		"creating the file":  {"export", "--workspace", uuid.NewString(), "-o", filepath.Join(dir, "no", "where")},
	} {
		require.Contains(t, bad(args...), want)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "an export that failed leaves nothing behind")
}
