package e2e

import (
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

const opAnalyses = "POST /api/analyses"

// writeAnalysisCanaries analyzes a part of the graph and waits for the result, which names nodes. The property is
// written to nodes of type process.
func (w *tenants) writeAnalysisCanaries() {
	w.t.Helper()
	c := func(field string) string { return w.canary("analysis's " + field) }
	w.values["analysis"] = w.id(w.writeJSON(opAnalyses, "/api/analyses", object{
		"algorithm": "communities", "relationTypes": []any{c("relation type")}, "entityTypes": []any{"process"},
		"property": c("property"), "weight": c("weight"),
	}, http.StatusAccepted), "id")
	path := "/api/analyses/" + w.values["analysis"]
	require.Eventually(w.t, func() bool {
		answer := w.send(w.firstKey.Key, w.firstKey.workspace, call{op: "GET /api/analyses/{id}", path: path})
		return strings.Contains(answer.body, `"state":"done"`)
	}, time.Minute, 50*time.Millisecond)
}
