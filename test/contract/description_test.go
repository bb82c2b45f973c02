package contract

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
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
				assert.EqualValues(t, len(graph.EntityTypes()), *list.Value.MaxItems,
					"openapi.yaml: maxItems of %s", cmp.Or(list.Ref, "entityTypes of "+name))
				bounded++
			}
		}
	}
	require.GreaterOrEqual(t, bounded, 3)
}

// TestToolsNameEveryEntityTypeAndAggregation: the texts of the tools for language models are written by hand.
func TestToolsNameEveryEntityTypeAndAggregation(t *testing.T) {
	tools := toolSchemas(t)
	// Other tools have the filter, too: to name the types there would lengthen the list of tools.
	for _, name := range []string{"search", "hybrid_search", "match_pattern", "analyze_graph", "execute_command"} {
		for _, entityType := range graph.EntityTypes() {
			assert.True(
				t, hasWord(tools[name], entityType), "internal/services/mcpserver: the tool %s does not name %s", name, entityType,
			)
		}
	}
	for _, function := range timeseries.FunctionNames() {
		assert.True(
			t, hasWord(tools["query"], function), "internal/services/mcpserver: the tool query does not name %s", function,
		)
	}
}

// hasWord reports whether a text contains a word, not only as a part of another one.
func hasWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
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
			assert.True(t, hasWord(declaration, function), "%s: Aggregation does not name %s", file, function)
		}
	}
}

func TestAggregationsAreThoseOfTheDescription(t *testing.T) {
	contract, err := loadContract()
	require.NoError(t, err)
	aggregation := contract.doc.Paths.Find("/api/live-data/query").Get.Parameters.GetByInAndName("query", "aggregation")
	require.Equal(t, timeseries.FunctionNames(), allowed(aggregation.Schema.Value.Items))
}

// TestTheDescriptionNamesTheAggregationsOfStrings: the others are null for strings.
func TestTheDescriptionNamesTheAggregationsOfStrings(t *testing.T) {
	contract, err := loadContract()
	require.NoError(t, err)
	description := contract.doc.Paths.Find("/api/live-data/query").Get.Description
	begin, end := "Strings have", "other columns"
	_, sentence, found := strings.Cut(description, begin)
	require.True(t, found, begin)
	sentence, _, found = strings.Cut(sentence, end)
	require.True(t, found, end)
	for _, f := range timeseries.Functions() {
		assert.Equal(t, f.SupportsStrings(), strings.Contains(sentence, "`"+string(f)+"`"),
			"openapi.yaml: the sentence %q of the query does not agree with SupportsStrings of %s", begin, f)
	}
}

// allowed returns the values of an enum.
func allowed(schema *openapi3.SchemaRef) (values []string) {
	for _, v := range schema.Value.Enum {
		values = append(values, v.(string))
	}
	return values
}
