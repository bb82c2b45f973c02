package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALargeSubgraphHasTheEdgesThatFit(t *testing.T) {
	nodes, edges := make([]briefNode, maxLimit), make([]briefEdge, 2000)
	for i := range nodes {
		nodes[i] = briefNode{ID: fmt.Sprint(i), Name: strings.Repeat("n", maxName), EntityType: "object"}
	}
	for i := range edges {
		edges[i] = briefEdge{ID: fmt.Sprint(i), SourceID: "1", TargetID: "2", RelationType: strings.Repeat("ö", 128)}
	}
	a := &answer{}
	text, err := encodeSubgraph(a, nodes, edges)
	require.NoError(t, err)
	require.Less(t, len(text), maxAnswerBytes+2<<10)
	var found struct {
		Nodes []briefNode
		Edges []briefEdge
	}
	require.NoError(t, json.Unmarshal(text, &found))
	require.Equal(t, nodes, found.Nodes)
	require.NotEmpty(t, found.Edges)
	left := fmt.Sprintf("%d more edges between these nodes are left out.", 2000-len(found.Edges))
	require.Equal(t, []string{left}, a.Notes)

	a = &answer{}
	text, err = encodeSubgraph(a, nodes[:1], nil)
	require.NoError(t, err)
	require.Contains(t, string(text), `"edges":[]`)
	require.Empty(t, a.Notes)
}
