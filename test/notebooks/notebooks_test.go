// Package notebooks runs the notebooks of docs/notebooks with pandas, polars and DuckDB. make test-all
// installs them.
package notebooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	binary = "../../bin/livegraph"                   // written by make build
	python = "../../bin/notebooks-python/bin/python" // set up by make test-all
)

// runNotebook runs a notebook and returns the values of Python expressions after its last cell.
func runNotebook(t *testing.T, s *harness.Server, name string, facts ...string) map[string]any {
	t.Helper()
	interpreter, err := filepath.Abs(python)
	require.NoError(t, err)
	require.FileExists(t, interpreter, "make test-all sets it up")
	script, err := filepath.Abs("testdata/run.py")
	require.NoError(t, err)
	notebook, err := filepath.Abs("../../docs/notebooks/" + name)
	require.NoError(t, err)
	expressions, err := json.Marshal(facts)
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), interpreter, script, notebook, string(expressions))
	run.Dir = t.TempDir()
	run.Env = append(
		os.Environ(), "LIVEGRAPH_URL="+s.URL(), "LIVEGRAPH_API_KEY="+s.First.AdminKey,
		"LIVEGRAPH_WORKSPACE_ID="+s.First.WorkspaceID, "no_proxy=*",
	)
	printed, err := run.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	lines := bytes.Split(bytes.TrimSpace(printed), []byte("\n"))
	var values map[string]any
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &values), "%s", printed)
	return values
}

func TestPointsAreReadAsColumns(t *testing.T) {
	testenv.RequireFull(t)
	s := harness.New(t, binary)
	s.Start()
	const seconds = 3000
	start := time.Now().Add(-seconds * time.Second).Truncate(time.Second)
	var lines strings.Builder
	for i := range seconds {
		at := start.Add(time.Duration(i) * time.Second).UnixNano()
		fmt.Fprintf(&lines, "boiler,room=A temperature=%d,pressure=%d %d\n", i, i%10, at)
		if i%100 == 0 {
			fmt.Fprintf(&lines, "door state=\"open\" %d\n", at)
		}
	}
	headers := http.Header{
		"Authorization": {"Bearer " + s.First.AdminKey}, "X-Workspace-Id": {s.First.WorkspaceID},
		"Content-Type": {"text/plain"},
	}
	answer, err := s.TryWith(headers, http.MethodPost, "/api/live-data/ingest", []byte(lines.String()))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, answer.Status, "%+v", answer)
	require.Eventually(t, func() bool {
		answer := s.Do(http.MethodGet, "/api/live-data/query?source=door", nil, http.StatusOK, nil)
		return bytes.Count(answer.Data, []byte("open")) == seconds/100
	}, time.Minute, 100*time.Millisecond)

	const rows = 2*seconds + seconds/100
	const file = `duckdb.sql("SELECT %s FROM 'points.parquet' WHERE metric = 'temperature'").fetchall()[0][0]`
	facts := map[string]any{
		"len(points)":                                float64(rows),
		"str(points.dtypes['metric'])":               "category",
		"points['value'].isna().sum().item()":        float64(seconds / 100),
		"points['value.text'].notna().sum().item()":  float64(seconds / 100),
		"frame.height":                               float64(rows),
		"day['max'].max()":                           float64(seconds - 1),
		fmt.Sprintf(file, "count(*)"):                float64(seconds),
		fmt.Sprintf(file, "sum(value)"):              float64(seconds * (seconds - 1) / 2),
		fmt.Sprintf(file, `any_value(\"tag.room\")`): "A",
	}
	require.Equal(t, facts, runNotebook(t, s, "points.ipynb", slices.Collect(maps.Keys(facts))...))
}

func TestTheGraphIsReadAsColumns(t *testing.T) {
	testenv.RequireFull(t)
	s := harness.New(t, binary)
	s.Start()
	const count = 300
	ids := make([]string, count)
	var nodes, edges []any
	for i := range ids {
		ids[i] = uuid.NewString()
		nodes = append(nodes, command("CREATE_NODE", map[string]any{
			"id": ids[i], "name": fmt.Sprint("node ", i), "entityType": []string{"object", "concept"}[i%2],
			"properties": map[string]any{"room": fmt.Sprint("room ", i%3), "level": i},
		}))
		if i > 0 {
			edges = append(edges, command("CREATE_EDGE", map[string]any{
				"sourceId": ids[0], "targetId": ids[i], "relationType": "feeds",
			}))
		}
	}
	for _, commands := range [][]any{nodes, edges} {
		s.Do(http.MethodPost, "/api/commands/batch", map[string]any{"commands": commands}, http.StatusOK, nil)
	}
	facts := map[string]any{
		"nodes.num_rows":                                    float64(count),
		"edges.num_rows":                                    float64(count - 1),
		"str(frame.dtypes['entityType'])":                   "category",
		"str(nodes.schema.field('createdAt').type)":         "timestamp[us, tz=UTC]",
		"frame['description'].isna().all().item()":          true,
		"properties['level'].sum().item()":                  float64(count * (count - 1) / 2),
		"kinds.filter(entityType='object')['nodes'].item()": float64(count / 2),
		"degrees['edges'].iloc[0].item()":                   float64(count - 1),
		"degrees['room'].iloc[0]":                           "room 0",
	}
	require.Equal(t, facts, runNotebook(t, s, "graph.ipynb", slices.Collect(maps.Keys(facts))...))
}

func command(kind string, payload map[string]any) any {
	return map[string]any{"type": kind, "payload": payload}
}
