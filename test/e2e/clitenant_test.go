package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// testWorkspaceByCommandLine reads sources, points, graph and search results, and undoes
// commands, without an API key. The output matches the API.
func testWorkspaceByCommandLine(t *testing.T, s *server) {
	pump, boiler := uuid.New(), uuid.New()
	s.Do(http.MethodPost, "/api/commands/batch", map[string]any{"commands": []map[string]any{
		{"type": "CREATE_NODE", "payload": map[string]any{
			"id": pump, "name": "Pump 7", "entityType": "object", "description": "leaks oil at night",
		}},
		{"type": "CREATE_NODE", "payload": map[string]any{"id": boiler, "name": "Boiler\x1b", "entityType": "object"}},
		{"type": "CREATE_EDGE", "payload": map[string]any{"sourceId": pump, "targetId": boiler, "relationType": "feeds"}},
	}}, http.StatusUnprocessableEntity, nil)
	s.Do(http.MethodPost, "/api/commands/batch", map[string]any{"commands": []map[string]any{
		{"type": "CREATE_NODE", "payload": map[string]any{
			"id": pump, "name": "Pump 7", "entityType": "object", "description": "leaks oil at night \x1b[31m",
		}},
		{"type": "CREATE_NODE", "payload": map[string]any{"id": boiler, "name": "Boiler", "entityType": "object"}},
		{"type": "CREATE_EDGE", "payload": map[string]any{
			"sourceId": pump, "targetId": boiler, "relationType": "feeds", "properties": map[string]any{"km": 2.5},
		}},
	}}, http.StatusOK, nil)
	s.Do(
		http.MethodPost, "/api/live-data/sources",
		map[string]any{"name": "kettle", "unit": "°C", "tags": map[string]string{"room": "cellar"}}, http.StatusCreated, nil,
	)
	var ingested struct{ Checkpoint string }
	s.Do(http.MethodPost, "/api/live-data/ingest", map[string]any{"points": []map[string]any{
		{"source": "kettle", "metric": "temp", "value": 71.5},
	}}, http.StatusCreated, &ingested)
	s.Do(http.MethodGet, "/api/live-data/query?checkpoint="+ingested.Checkpoint, nil, http.StatusOK, nil)

	t.Run("sources and points", func(t *testing.T) {
		require.Regexp(
			t, `(?m)^kettle +[0-9a-f-]{36} +(active|stale) .*°C +room=cellar`, s.CLI("sources", "list", "--tag", "room=cellar"),
		)
		require.Contains(t, s.CLI("sources", "list", "--name", "nothing"), "0 sources")
		require.Regexp(
			t, `(?m)^kettle +temp +number +1 +\S+Z +\S+Z +°C +-\n1 series$`, s.CLI("series", "list", "--source", "kettle"),
		)
		require.Contains(t, s.CLI("series", "list", "--metric", "nothing"), "0 series")
		require.Regexp(t, `(?m)^\S+Z +kettle +temp +°C +71.5$`, s.CLI("query", "--source", "kettle", "--from", "2h"))
		require.Regexp(t, `(?m)^\S+Z +kettle +temp +°C +1 +71.5$`, s.CLI(
			"query", "--metric", "temp", "--aggregation", "count,max", "--interval", "1h",
		))
		require.Regexp(
			t, `^timestamp,sourceId,.*\n\S+,kettle,temp,number,°C,71.5\n$`, s.CLI("query", "--latest", "--format", "csv"),
		)
		require.Regexp(t, `^PAR1(?s:.*)kettle(?s:.*)PAR1$`, s.CLI("query", "--latest", "--format", "parquet"))
		require.Contains(t, s.CLI("query", "--source", "nothing"), "no points")
	})
	t.Run("the graph, and what was done to it", func(t *testing.T) {
		require.Contains(t, s.CLI("graph", "nodes", "--name", "pump"), "1 node")
		shown := s.CLI("graph", "node", pump.String())
		require.Contains(t, shown, "leaks oil at night")
		require.NotContains(t, shown, "\x1b", "what a terminal would obey is not printed")
		require.Regexp(t, `feeds +`+pump.String()+` +`+boiler.String(), shown)
		require.Regexp(t, `(?m)^1 +feeds +Boiler`, s.CLI("graph", "neighbors", pump.String()))
		require.Regexp(
			t, `(?m)^1 +- +Pump 7 -\[feeds\]-> Boiler\n1 path$`, s.CLI("graph", "path", pump.String(), boiler.String()),
		)
		require.Regexp(t, `(?m)^1 +2.5 +Boiler <-\[feeds\]- Pump 7\n1 path$`, s.CLI(
			"graph", "path", boiler.String(), pump.String(), "--weight", "km", "--limit", "5", "--max-depth", "2",
			"--relation-type", "feeds", "--entity-type", "actor",
		))
		require.Contains(t, s.CLI("graph", "path", boiler.String(), pump.String(), "--direction", "out"), "0 paths")
		require.Contains(t, s.CLI("graph", "undo"), "undo of BATCH")
		require.Contains(t, s.CLI("graph", "nodes"), "0 nodes")
		require.Contains(t, s.CLI("graph", "redo"), "redo of BATCH")
		history := s.CLI("graph", "history", boiler.String())
		require.Regexp(t, `(?s)\n3 .* REDO .*\n2 .* UNDO .*\n1 .* BATCH .*3 changes`, history)
	})
	t.Run("search and its index", func(t *testing.T) {
		require.Eventually(t, func() bool {
			return strings.Contains(s.CLI("index", "status"), "ready: 2 of 2 nodes indexed")
		}, time.Minute, 200*time.Millisecond)
		require.Regexp(t, `^\d\.\d{3}  Pump 7 `, s.CLI("search", "who leaks oil"))
		require.Regexp(t, `(?m)^entityType: object \d.*\ntags: \(no value\) \d\n\d candidates?$`, s.CLI(
			"search", "who leaks oil", "--facet", "entityType", "--facet", "tags",
		))
		require.Equal(t, "0 candidates\n", s.CLI(
			"search", "who leaks oil", "--tag", "a,b", "--tag", "c", "--all-tag", "d", "--from", "2026-01-01T00:00:00Z",
		), "nodes without a document do not pass")
		for _, command := range []string{"search", "answer"} {
			require.Regexp(t, `^(0 candidates|no sentence answers the question)\n$`, s.CLI(
				command, "who leaks oil", "--document", uuid.NewString(), "--document", pump.String(),
			))
		}
		require.Equal(t, "0 candidates\n", s.CLI(
			"search", "who leaks oil", "--property", "a=b=c", "--property-min", "n=1", "--property-max", "n=2",
			"--property-prefix", "s=x,y",
		), "nodes without these properties do not pass")
		require.Regexp(
			t, `(?s)^1\.000  Pump 7 .*\n0\.\d{3}  Boiler .*%  graph: linked to "Pump 7"`,
			s.CLI("search", "--hybrid", "--explain", "oil"),
		)
		answer := s.CLI("answer", "who leaks oil", "--max-sentences", "1", "--entity-type", "object")
		require.Regexp(t, `^.*leaks oil at night.* \[1\]\n\n\[1\] Pump 7  \(object `+pump.String()+`\)\n$`, answer)
		require.NotContains(t, answer, "\x1b")
		require.Equal(t, "no sentence answers the question\n", s.CLI("answer", "quantum chromodynamics"))
	})
	t.Run("as JSON, the interface's answer", func(t *testing.T) {
		for _, command := range [][]string{
			{"sources", "list"}, {"series", "list"}, {"query"}, {"graph", "nodes"}, {"graph", "node", pump.String()},
			{"graph", "neighbors", pump.String()}, {"graph", "path", pump.String(), boiler.String()},
			{"graph", "history"}, {"search", "oil"}, {"search", "--hybrid", "oil"}, {"answer", "oil"}, {"index", "status"},
			{"graph", "undo"}, {"graph", "redo"},
		} {
			var answer struct {
				Success   bool
				RequestID string
			}
			require.NoError(t, json.Unmarshal([]byte(s.CLI(append(command, "--json")...)), &answer), command)
			require.True(t, answer.Success, command)
			require.Regexp(t, `^req_`, answer.RequestID)
		}
	})
	t.Run("what is refused says which flag", func(t *testing.T) {
		for message, command := range map[string][]string{
			"--limit: must be":                     {"sources", "list", "--limit", "0"},
			"--from: must be":                      {"query", "--from", "never"},
			"--workspace: there is no workspace":   {"graph", "nodes", "--workspace", uuid.NewString()},
			"--hops: needs --hybrid":               {"search", "--hops", "2", "oil"},
			"facets[0]: is not one of the allowed": {"search", "--facet", "name", "oil"},
			"No such node":                         {"graph", "node", uuid.NewString()},
			"Command not found":                    {"graph", "undo", "--command", uuid.NewString()},
			"Nothing to redo":                      {"graph", "redo"},
			"expected \"<query>\"":                 {"search"},
			"timestamp.to: must be after from": {
				"answer", "oil", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z",
			},
			"maxSentences: must be from 1 to 10":    {"answer", "oil", "--max-sentences", "11"},
			"must be one of \"table\",\"csv\",\"nd": {"query", "--format", "xml"},
		} {
			output, code := s.RunCLI(command...)
			require.NotZero(t, code, command)
			require.Contains(t, output, message, command)
		}
	})
}
