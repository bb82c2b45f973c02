package contract

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/services/mcpserver"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

func TestEntityTypesAreThoseOfTheDescription(t *testing.T) {
	contract, err := loadContract()
	require.NoError(t, err)
	require.ElementsMatch(t, graph.EntityTypes(), allowed(contract.doc.Components.Schemas["EntityType"]))
}

// TestListsOfEntityTypesMayHaveAllOfThem: lists in bodies have each type at most once, so none is refused for its
// length.
func TestListsOfEntityTypesMayHaveAllOfThem(t *testing.T) {
	contract, err := loadContract()
	require.NoError(t, err)
	bounded := 0
	for name, schema := range contract.doc.Components.Schemas {
		for property, list := range schema.Value.Properties {
			if property == "entityTypes" && list.Value.MaxItems != nil {
				require.EqualValues(t, len(graph.EntityTypes()), *list.Value.MaxItems, name)
				bounded++
			}
		}
	}
	require.GreaterOrEqual(t, bounded, 3)
}

// TestToolsNameEveryEntityTypeAndAggregation: the texts of the tools for language models are written by hand.
func TestToolsNameEveryEntityTypeAndAggregation(t *testing.T) {
	tools := toolSchemas(t)
	for _, name := range []string{"search", "hybrid_search", "match_pattern", "execute_command"} {
		for _, entityType := range graph.EntityTypes() {
			require.Contains(t, tools[name], entityType, name)
		}
	}
	for _, function := range timeseries.FunctionNames() {
		require.Contains(t, tools["query"], function)
	}
}

// toolSchemas returns the descriptions and the schemas of the input of all tools as text, by name.
func toolSchemas(t *testing.T) map[string]string {
	t.Helper()
	server := mcpserver.New(mcpserver.Options{Scopes: []string{"admin"}})
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, tool := range tools.Tools {
		schema, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		texts[tool.Name] = tool.Description + string(schema)
	}
	return texts
}

// TestSDKsNameEveryAggregation: the types of the SDKs for Go and Python are written by hand.
func TestSDKsNameEveryAggregation(t *testing.T) {
	for file, begin := range map[string]string{
		"../../sdk/go/points.go":                    "// Aggregation is a function",
		"../../sdk/python/src/livegraph/filters.py": "Aggregation = Literal[",
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, declaration, found := strings.Cut(string(text), begin)
		require.True(t, found, file)
		declaration, _, _ = strings.Cut(declaration, "\n\n")
		for _, function := range timeseries.FunctionNames() {
			require.Regexp(t, `\b`+function+`\b`, declaration, file)
		}
	}
}

func TestAggregationsAreThoseOfTheDescription(t *testing.T) {
	contract, err := loadContract()
	require.NoError(t, err)
	aggregation := contract.doc.Paths.Find("/api/live-data/query").Get.Parameters.GetByInAndName("query", "aggregation")
	require.Equal(t, timeseries.FunctionNames(), allowed(aggregation.Schema.Value.Items))
}

// allowed returns the values of an enum.
func allowed(schema *openapi3.SchemaRef) (values []string) {
	for _, v := range schema.Value.Enum {
		values = append(values, v.(string))
	}
	return values
}
