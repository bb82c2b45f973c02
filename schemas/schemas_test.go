package schemas_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
)

// load parses and validates the OpenAPI document.
func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(schemas.OpenAPI)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}

// If an object allowed additional properties, responses could have undocumented fields without a
// failing test.
func TestEveryObjectOfTheContractIsClosed(t *testing.T) {
	doc := load(t)
	var walk func(where string, ref *openapi3.SchemaRef)
	walk = func(where string, ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil {
			return
		}
		schema := ref.Value
		if schema.Type.Is("object") && len(schema.Properties) > 0 {
			require.True(t, schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has,
				"%s allows additional properties", where)
			for _, name := range schema.Required {
				require.Contains(t, schema.Properties, name, where)
			}
		}
		for name, property := range schema.Properties {
			if property.Ref == "" {
				walk(where+"."+name, property)
			}
		}
		if schema.Items != nil && schema.Items.Ref == "" {
			walk(where+"[]", schema.Items)
		}
	}
	for name, schema := range doc.Components.Schemas {
		walk(name, schema)
	}
}

func TestEveryAnswerOfTheContractHasARequestIDAndAVersion(t *testing.T) {
	for path, item := range load(t).Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				require.Contains(t, response.Value.Headers, "X-Request-Id", "%s %s %s", method, path, status)
				require.Contains(t, response.Value.Headers, "X-Livegraph-Version", "%s %s %s", method, path, status)
			}
		}
	}
}
