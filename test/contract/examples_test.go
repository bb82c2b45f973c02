package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// TestTheContractsExamplesWork sends the example bodies of the contract, in the
// order in which a reader would try them.
func TestTheContractsExamplesWork(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	operations := l.ContractOperations()
	send := func(operation, path string, status int) {
		method, _, _ := strings.Cut(operation, " ")
		for name, body := range examples(t, operations[operation]) {
			a := l.Do(t, contract.Request{Method: method, Path: path, Body: body})
			require.Equal(t, status, a.Status, "%s %s: %s", operation, name, a.Body)
		}
	}
	send("POST /api/live-data/sources", "/api/live-data/sources", http.StatusCreated)
	send("POST /api/live-data/ingest", "/api/live-data/ingest", http.StatusCreated)
	var list []source
	l.Get(t, "/api/live-data/sources", &list)
	require.Len(t, list, 1)
	send("PATCH /api/live-data/sources/{id}", "/api/live-data/sources/"+list[0].ID, http.StatusOK)

	for _, operation := range []string{
		"GET /api/live-data/sources", "GET /api/live-data/query", "GET /api/live-data/series",
	} {
		for _, p := range operations[operation].Parameters {
			value, isText := p.Value.Example.(string)
			if p.Value.In != "query" || !isText {
				continue
			}
			query := p.Value.Name + "=" + escape(value)
			if p.Value.Name == "interval" || p.Value.Name == "groupBy" {
				query += "&aggregation=avg"
			}
			_, path, _ := strings.Cut(operation, " ")
			require.Equal(t, http.StatusOK, l.Do(t, contract.Request{Path: path + "?" + query}).Status, query)
		}
	}
}

// TestTheContractsCommandsWork does the same for commands, whose examples build on
// one another.
func TestTheContractsCommandsWork(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	batch := examples(t, w.ContractOperations()["POST "+batchPath])
	require.Equal(t, http.StatusOK, w.batch(t, batch["example"]).Status)
	single := examples(t, w.ContractOperations()["POST "+executePath])
	require.Len(t, single, 4)
	w.mustExecute(t, single["create"])
	w.mustExecute(t, single["update"])
	w.mustExecute(t, single["undo"])
	decode[commandResult](t, w.executeAs(t, "", single["upsert"]), http.StatusCreated)
}

func TestTheContractsPatternsWork(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	bodies := examples(t, g.ContractOperations()["POST "+patternsPath])
	require.Len(t, bodies, 2)
	for _, body := range bodies {
		g.match(t, body)
	}
}

func examples(t *testing.T, operation *openapi3.Operation) map[string]string {
	t.Helper()
	media := operation.RequestBody.Value.Content["application/json"]
	all := map[string]any{}
	if media.Example != nil {
		all["example"] = media.Example
	}
	for name, ref := range media.Examples {
		all[name] = ref.Value.Value
	}
	require.NotEmpty(t, all)
	bodies := map[string]string{}
	for name, example := range all {
		text, err := json.Marshal(example)
		require.NoError(t, err)
		bodies[name] = string(text)
	}
	return bodies
}
