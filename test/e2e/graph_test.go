package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

type node struct {
	ID, Name, EntityType string
	Properties           map[string]any
	Version              int
}

// nodesByKind returns all nodes of a kind that the demo creates.
func (s *server) nodesByKind(kind string) (list []node) {
	s.t.Helper()
	s.Do("GET", "/api/queries/nodes?limit=100&property.kind="+kind, nil, http.StatusOK, &list)
	return list
}

type source struct{ Name, NodeID string }

func (s *server) sources() (list []source) {
	s.t.Helper()
	s.Do("GET", "/api/live-data/sources?limit=100", nil, http.StatusOK, &list)
	return list
}

// checkMachineGraph checks the graph that a demo created, and runs the demo again.
func (s *server) checkMachineGraph() {
	t := s.t
	t.Helper()
	hosts := s.nodesByKind("machine")
	require.Len(t, hosts, 1)
	require.NotEmpty(t, s.nodesByKind("process"))
	require.NotEmpty(t, s.nodesByKind("core"))

	for relation, kind := range map[string]string{"part_of": "storage", "runs_on": "process", "has_account_on": "user"} {
		var near []struct{ Node node }
		s.Do(
			"GET", "/api/queries/nodes/"+hosts[0].ID+"/neighbors?direction=in&limit=100&relationType="+relation, nil,
			http.StatusOK, &near,
		)
		require.True(t, slices.ContainsFunc(near, func(n struct{ Node node }) bool {
			return n.Node.Properties["kind"] == kind
		}), "%s: %v", relation, near)
	}

	processor := s.nodesByKind("processor")[0].ID
	for _, source := range s.sources() {
		require.NotEmpty(t, source.NodeID, source.Name) // including the weather source
		if strings.HasSuffix(source.Name, "/cpu") {
			require.Equal(t, processor, source.NodeID)
		}
	}
	var series []struct{ Metric string }
	s.Do("GET", "/api/live-data/query?latest=true&nodeId="+processor, nil, http.StatusOK, &series)
	require.NotEmpty(t, series, "live data is found by its node")

	s.CLI("demo", "--duration", "2s", "--plain", "--no-backfill")
	again := s.nodesByKind("machine")
	require.Equal(t, hosts, again, "not made again, and not changed")
}

// testGraphMovesToAnotherWorkspace exports and imports a graph by command line.
func testGraphMovesToAnotherWorkspace(t *testing.T, s *server) {
	var commands []map[string]any
	var ids []string
	for i := range 300 {
		id := uuid.NewString()
		ids = append(ids, id)
		commands = append(commands, map[string]any{"type": "CREATE_NODE", "payload": map[string]any{
			"id": id, "name": fmt.Sprintf("pump %d 🚀 <&>", i), "entityType": "object", "description": "line one\nline two",
			"properties": map[string]any{"i": i, "deep": map[string]any{"a": []any{1.5, "x"}}, "a.b": true},
		}})
	}
	for i := range 300 {
		commands = append(commands, map[string]any{"type": "CREATE_EDGE", "payload": map[string]any{
			"sourceId": ids[i], "targetId": ids[(i+1)%300], "relationType": "feeds", "properties": map[string]any{"n": i},
		}})
	}
	s.Do("POST", "/api/commands/batch", map[string]any{"commands": commands}, http.StatusOK, nil)
	s.Do(
		"POST", "/api/commands/execute", map[string]any{"type": "DELETE_NODE", "payload": map[string]any{"id": ids[0]}},
		http.StatusOK, nil,
	)

	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	require.Contains(t, s.CLI("export", "--output", file("a")), "exported 299 nodes and 298 edges")
	var target struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(s.CLI("workspaces", "create", "--name", "copy", "--json")), &target))
	require.Contains(
		t, s.CLI("import", file("a"), "--workspace", target.ID), "597 nodes and edges created, 0 there already",
	)
	s.CLI("export", "--workspace", target.ID, "--output", file("b"))
	require.Equal(t, readExport(t, file("a")), readExport(t, file("b")))

	require.Contains(
		t, s.CLI("import", file("a"), "--workspace", target.ID), "0 nodes and edges created, 597 there already",
	)
	output, code := s.RunCLI("import", file("a"))
	require.Zero(t, code, output)

	text, err := os.ReadFile(file("a"))
	require.NoError(t, err)
	removed := `{"node":{"id":"` + ids[0] + `","name":"back","entityType":"object"}}`
	require.NoError(t, os.WriteFile(file("c"), append(text[strings.Index(string(text), "\n")+1:], removed+"\n"...), 0o600))
	output, code = s.RunCLI("import", file("c"))
	require.Equal(t, 1, code)
	require.Contains(t, output, "line 598: its id is used already")
	require.NotContains(t, s.CLI("keys", "list"), "import     active")
}

// readExport returns the resources of an export without members that may differ between two
// workspaces.
func readExport(t *testing.T, path string) (lines []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var l map[string]map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		for member, resource := range l {
			if member == "graph" {
				continue
			}
			for _, stamp := range []string{"createdAt", "updatedAt", "version"} {
				require.Contains(t, resource, stamp)
				delete(resource, stamp)
			}
			lines = append(lines, resource)
		}
	}
	return lines
}

// TestAnImportContinuesAfterACrash kills the server during an import. The import continues after the
// restart, and creates everything once.
func TestAnImportContinuesAfterACrash(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Start()
	const nodes = 20_000
	var text strings.Builder
	for i := range nodes {
		fmt.Fprintf(
			&text, `{"node":{"id":%q,"name":"pump %d","entityType":"object","properties":{"i":%d}}}`+"\n", uuid.NewString(), i,
			i,
		)
	}
	file := filepath.Join(t.TempDir(), "pumps")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))

	type end struct {
		output string
		code   int
	}
	ended := make(chan end, 1)
	go func() {
		output, code := s.RunCLI("import", file, "--json")
		ended <- end{output, code}
	}()
	require.Eventually(t, func() bool {
		return s.total("/api/queries/nodes") > nodes/10
	}, time.Minute, 20*time.Millisecond)
	s.Kill()
	require.Empty(t, ended, "it is still under way")
	s.Start()
	select {
	case e := <-ended:
		require.Zero(t, e.code, e.output)
		var done struct{ Created, There, Different, Refused int }
		require.NoError(t, json.Unmarshal([]byte(e.output), &done), e.output)
		require.Equal(t, nodes, done.Created+done.There)
		require.Zero(t, done.Different+done.Refused)
	case <-time.After(3 * time.Minute):
		t.Fatal("the import did not end")
	}
	require.EqualValues(t, nodes, s.total("/api/queries/nodes"))
}

// total returns the number of items in a list, or 0 while the server does not answer.
func (s *server) total(path string) int64 {
	answer, err := s.Try("GET", path+"?limit=1", nil)
	if err != nil {
		return 0
	}
	return answer.Meta.Total
}
