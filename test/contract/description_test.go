package contract_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/schemas"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// description returns the API description.
func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(schemas.OpenAPI)
	require.NoError(t, err)
	return doc
}

func texts(values []any) (texts []string) {
	for _, v := range values {
		texts = append(texts, v.(string))
	}
	return texts
}

func TestEntityTypesAreThoseOfTheDescription(t *testing.T) {
	documented := texts(description(t).Components.Schemas["EntityType"].Value.Enum)
	require.ElementsMatch(t, documented, graph.EntityTypes())
}

func TestAggregationsAreThoseOfTheDescription(t *testing.T) {
	parameters := description(t).Paths.Find("/api/live-data/query").Get.Parameters
	documented := texts(parameters.GetByInAndName("query", "aggregation").Schema.Value.Items.Value.Enum)
	var functions []string
	for _, f := range timeseries.Functions() {
		functions = append(functions, string(f))
	}
	require.Equal(t, documented, functions)
}
