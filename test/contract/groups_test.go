package contract_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/livegraph/livegraph/test/contract"
)

// groups returns all groups of endpoints, on engines that only this test uses.
func groups() []contract.Group {
	return []contract.Group{
		(&contract.LiveData{}).Group, (&contract.Commands{}).Group, contract.GraphReads,
		(&contract.Search{WithoutIndexes: true}).Group, (&contract.Audit{}).Group,
		contract.MCP, contract.Webhooks, contract.Analyses,
	}
}

func isWorkspaceHeader(t *testing.T) func(*openapi3.ParameterRef) bool {
	t.Helper()
	return func(p *openapi3.ParameterRef) bool { return p.Value.In == "header" && p.Value.Name == "x-workspace-id" }
}
