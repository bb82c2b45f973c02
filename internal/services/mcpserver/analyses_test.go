package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheResultOfAnAnalysisFitsIntoAnAnswer(t *testing.T) {
	server := &api{}
	c := &client{options: Options{Transport: server, URL: "http://x"}, slots: make(chan struct{}, 1)}
	for list, field := range map[string]string{
		"top": `"value":0.0123456789012345`, "groups": `"group":99,"size":1000000`,
	} {
		items := make([]string, 100)
		for i := range items {
			items[i] = fmt.Sprintf(`{"nodeId":"0194a5b0-0000-7000-8000-%012d",%s}`, i, field)
		}
		server.body = `{"success":true,"data":{"id":"a","state":"done","result":{"` + list + `":[` +
			strings.Join(items, ",") + `]}},"requestId":"req_1"}`
		result, err := c.analysis(t.Context(), analysisInput{ID: "../nodes"})
		require.NoError(t, err)
		require.Equal(t, "GET /api/analyses/..%2Fnodes", server.path)
		a := result.(*answer)
		require.Empty(t, a.Cut)
		require.Len(t, a.Citations, defaultLimit)
		require.Equal(t, "livegraph://nodes/0194a5b0-0000-7000-8000-000000000000", a.Citations[0].URI)
		var job struct{ Result map[string][]any }
		require.NoError(t, json.Unmarshal(a.Result, &job))
		require.Len(t, job.Result[list], 100)
	}
}
