package e2e

import "testing"

// TestOnOneServer runs tests that need no more than a server with default settings and a workspace
// of their own. They share a server, because a start takes some seconds of processor time.
func TestOnOneServer(t *testing.T) {
	t.Parallel()
	shared, otlpAddress := grpcServer(t)
	shared.Start()
	for name, test := range map[string]func(*testing.T, *server){
		"the first steps of the README work when pasted": testFirstStepsOfREADME,
		"the lines of the README work when pasted":       testLinesOfREADME,
		"the graph of the README works when pasted":      testGraphOfREADME,
		"the search of the README works when pasted":     testSearchOfREADME,
		"keys and workspaces by command line":            testKeysAndWorkspacesByCommandLine,
		"a workspace is read by command line":            testWorkspaceByCommandLine,
		"a graph moves to another workspace":             testGraphMovesToAnotherWorkspace,
		"bench sends every format":                       testBenchSendsEveryFormat,
		"the commands of the page on OpenTelemetry work": testOpenTelemetryPage,
		"the commands of the page on rules work":         testRulesPage,
		"the commands of the page on MCP work":           testMCPPage,
		"the Model Context Protocol on stdin":            testMCPOverStdio,
		"metrics of OpenTelemetry are sent by gRPC":      testMetricsOverGRPC(otlpAddress),
		"a directory is imported by command line":        testDocumentsByCommandLine,
		"webhooks by command line":                       testWebhooks,
		"analyses by command line":                       testAnalyses,
		"the example of documents works when pasted":     testExampleOfDocuments,
	} {
		workspace := shared.workspace()
		key := shared.key(workspace, "--scope", "admin")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &server{Server: shared.Tenant(t, workspace, key.Key), t: t})
		})
	}
}
