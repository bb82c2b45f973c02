package monitoring

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
)

// canary is part of every text that the tenant sends, so that it can be found in metrics.
const canary = "canary-xq7"

// tenant is a workspace whose names, tags, metrics and values contain the canary.
type tenant struct {
	*harness.Server
	workspace, key string
}

func newTenant(t *testing.T, s *harness.Server) *tenant {
	t.Helper()
	var workspace struct{ ID string }
	decode(t, s.CLI("workspaces", "create", "--name", canary+"-workspace", "--plan", "enterprise", "--json"), &workspace)
	var key struct{ ID, Key string }
	decode(
		t, s.CLI("keys", "create", "--workspace", workspace.ID, "--name", canary+"-key", "--scope", "admin", "--json"), &key,
	)
	return &tenant{Server: s, workspace: workspace.ID, key: key.Key}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}

// call sends a request of the tenant and requires a status.
func (c *tenant) call(t *testing.T, method, path, body string, status int) json.RawMessage {
	t.Helper()
	a, err := c.TryAs(c.key, c.workspace, method, path, []byte(body))
	require.NoError(t, err)
	require.Equal(t, status, a.Status, "%s %s: %+v", method, path, a.Error)
	return a.Data
}

// load sends valid and invalid requests to every route that has metrics.
func (c *tenant) load(t *testing.T, round int) {
	t.Helper()
	var source struct{ ID string }
	decode(t, string(c.call(t, "POST", "/api/live-data/sources", fmt.Sprintf(
		`{"name":"%s-source-%d","description":"%s","unit":"%s","tags":{"%s":"%s"}}`, canary, round, canary, canary, canary,
		canary), http.StatusCreated)), &source)
	ingest := func(points string, status int) string {
		var answer struct{ Checkpoint string }
		if data := c.call(t, "POST", "/api/live-data/ingest", points, status); len(data) > 0 {
			decode(t, string(data), &answer)
		}
		return answer.Checkpoint
	}
	point := fmt.Sprintf(
		`{"sourceId":%q,"metric":"%s-metric","tags":{"%s-tag":"%s"},"value":`, source.ID, canary, canary, canary,
	)
	checkpoint := ingest(`{"points":[`+point+`1.5},`+point+`"`+canary+`"},`+point+`1e999}]}`, http.StatusCreated)
	ingest(`{"points":[{"source":"`+canary+`-unknown","metric":"m","value":1}]}`, http.StatusUnprocessableEntity)
	ingest(`{"points":`, http.StatusBadRequest)

	selector := "sourceId=" + source.ID
	c.call(t, "GET", "/api/live-data/query?checkpoint="+url.QueryEscape(checkpoint)+"&"+selector, "", http.StatusOK)
	for _, params := range []string{"&latest=true", "&aggregation=avg&interval=1m", "&aggregation=count&groupBy=metric"} {
		c.call(t, "GET", "/api/live-data/query?"+selector+params, "", http.StatusOK)
	}
	c.call(t, "GET", "/api/live-data/series?"+selector, "", http.StatusOK)
	c.call(t, "GET", "/api/live-data/sources?name="+canary, "", http.StatusOK)
	c.call(t, "PATCH", "/api/live-data/sources/"+source.ID, `{"description":"`+canary+`-2"}`, http.StatusOK)
	c.call(t, "GET", "/api/live-data/sources/"+source.ID, "", http.StatusOK)
	c.call(t, "DELETE", "/api/live-data/sources/"+source.ID, "", http.StatusNoContent)
	c.call(t, "GET", "/api/live-data/sources/"+source.ID, "", http.StatusNotFound)
	c.write(t)
	c.call(t, "POST", "/api/rag/hybrid-search", `{"query":"`+canary+`"}`, http.StatusOK)
	c.call(t, "POST", "/api/rag/answer", `{"query":"`+canary+`"}`, http.StatusOK)
	c.call(t, "POST", "/api/rag/search", `{"query":"`+canary+`","limit":0}`, http.StatusUnprocessableEntity)
	c.call(t, "GET", "/api/rag/index/status", "", http.StatusOK)
	c.call(t, "GET", "/api/"+canary, "", http.StatusNotFound)
	c.call(t, "GET", "/api/me", "", http.StatusOK)
	for _, bad := range []struct{ key, workspace string }{
		{canary, c.workspace}, {c.key, canary}, {c.key, "11111111-2222-7333-8444-555555555555"},
		{strings.Repeat("x", 40), c.workspace},
	} {
		a, err := c.TryAs(bad.key, bad.workspace, "GET", "/api/live-data/sources", nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, a.Status, 400)
	}
}

// write sends requests to the routes of the graph.
func (c *tenant) write(t *testing.T) {
	t.Helper()
	var made struct {
		CommandID string
		Node      struct{ ID string }
	}
	decode(t, string(c.call(
		t, "POST", "/api/commands/execute",
		fmt.Sprintf(`{"type":"CREATE_NODE","payload":{"name":"%[1]s-node","entityType":"object",
			"description":"%[1]s","properties":{"%[1]s":"%[1]s"}}}`, canary),
		http.StatusCreated,
	)), &made)
	node := made.Node.ID
	c.call(
		t, "POST", "/api/commands/execute",
		`{"type":"UPDATE_NODE","expectedVersion":7,"payload":{"id":"`+node+`","name":"`+canary+`"}}`, http.StatusConflict,
	)
	c.call(t, "POST", "/api/commands/execute", `{"type":"`+canary+`"}`, http.StatusUnprocessableEntity)
	c.call(
		t, "POST", "/api/commands/batch",
		`{"commands":[{"type":"CREATE_EDGE","payload":{"sourceId":"`+
			node+`","targetId":"`+node+`","relationType":"`+canary+`"}}]}`,
		http.StatusOK,
	)
	c.call(t, "GET", "/api/commands/"+made.CommandID, "", http.StatusOK)
	c.call(t, "GET", "/api/queries/nodes?name="+canary, "", http.StatusOK)
	c.call(t, "GET", "/api/queries/edges?relationType="+canary, "", http.StatusOK)
	c.call(t, "POST", "/api/commands/execute", `{"type":"UNDO"}`, http.StatusOK)
	c.call(t, "GET", "/api/queries/nodes/"+node, "", http.StatusOK)
}
