package contract

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

func TestEntityTypesAreThoseOfTheDescription(t *testing.T) {
	contract, err := loadContract()
	require.NoError(t, err)
	require.ElementsMatch(t, graph.EntityTypes(), allowed(contract.doc.Components.Schemas["EntityType"]))
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
