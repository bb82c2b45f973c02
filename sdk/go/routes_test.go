package livegraph

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// leftOut are the routes of the OpenAPI document without a method, with the reason. [Client.Do] sends requests to
// them.
var leftOut = map[string]string{
	"GET /healthz":                               "a probe",
	"GET /readyz":                                "a probe",
	"GET /api/openapi.yaml":                      "the document itself",
	"GET /api/docs":                              "a page",
	"GET /api/docs/{asset}":                      "a page",
	"GET /ping":                                  "for clients of InfluxDB",
	"GET /health":                                "for clients of InfluxDB",
	"POST /write":                                "for clients of InfluxDB",
	"POST /api/v2/write":                         "for clients of InfluxDB",
	"POST /api/v1/write":                         "for clients of Prometheus",
	"POST /prometheus/api/v1/read":               "for clients of Prometheus",
	"GET /prometheus/api/v1/query":               "the form is used, which has no limit of length",
	"GET /prometheus/api/v1/query_range":         "the form is used, which has no limit of length",
	"GET /prometheus/api/v1/series":              "for Grafana; see Points.Series",
	"POST /prometheus/api/v1/series":             "for Grafana; see Points.Series",
	"GET /prometheus/api/v1/labels":              "for Grafana",
	"POST /prometheus/api/v1/labels":             "for Grafana",
	"GET /prometheus/api/v1/metadata":            "for Grafana",
	"GET /prometheus/api/v1/rules":               "for Grafana; see Rules",
	"GET /prometheus/api/v1/alerts":              "for Grafana; see Alerts",
	"GET /prometheus/api/v1/query_exemplars":     "for Grafana",
	"POST /prometheus/api/v1/query_exemplars":    "for Grafana",
	"GET /prometheus/api/v1/format_query":        "for Grafana",
	"POST /prometheus/api/v1/format_query":       "for Grafana",
	"GET /prometheus/api/v1/label/{name}/values": "for Grafana",
	"GET /prometheus/api/v1/status/buildinfo":    "for Grafana",
	"POST /v1/metrics":                           "for OpenTelemetry",
	"POST /mcp":                                  "for language models",
	"GET /api/admin/audit":                       "administration",
	"GET /api/admin/usage":                       "administration",
	"POST /api/admin/reindex":                    "administration",
	"POST /api/admin/nodes/{id}/purge":           "administration",
}

// contract reads the routes of the OpenAPI document.
func contract(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "schemas", "openapi.yaml"))
	if os.IsNotExist(err) {
		t.Skip("the module is outside of the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, paths, _ := strings.Cut(string(text), "\npaths:\n")
	paths, _, _ = strings.Cut(paths, "\ncomponents:\n")
	routes, path := map[string]bool{}, ""
	line := regexp.MustCompile(`(?m)^(?:  (/\S*):|    (get|put|post|patch|delete):)$`)
	for _, match := range line.FindAllStringSubmatch(paths, -1) {
		if match[1] != "" {
			path = match[1]
		} else {
			routes[strings.ToUpper(match[2])+" "+path] = true
		}
	}
	return routes
}

// operations reads the routes of routes.go. The linter reports one that no method uses.
func operations(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "routes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || len(literal.Elts) != 2 {
			return true
		}
		method := literal.Elts[0].(*ast.SelectorExpr).Sel.Name
		path := strings.Trim(literal.Elts[1].(*ast.BasicLit).Value, `"`)
		routes[strings.ToUpper(strings.TrimPrefix(method, "Method"))+" "+path] = true
		return true
	})
	return routes
}

func TestTheVersionIsThatOfTheServer(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "VERSION"))
	if os.IsNotExist(err) {
		t.Skip("the module is outside of the repository")
	}
	if err != nil || strings.TrimSpace(string(text)) != Version {
		t.Fatalf("VERSION is %q, and that of the SDK %q: %v", text, Version, err)
	}
}

func TestEachRouteHasAMethodOrAReason(t *testing.T) {
	documented, covered := contract(t), operations(t)
	if len(documented) < 70 || len(covered) < 40 {
		t.Fatalf("%d routes are documented and %d covered", len(documented), len(covered))
	}
	for route := range documented {
		if _, out := leftOut[route]; covered[route] == out {
			t.Errorf("%s: has a method: %t, is left out: %t", route, covered[route], out)
		}
	}
	for route := range covered {
		if !documented[route] {
			t.Errorf("%s is not documented", route)
		}
	}
	for route := range leftOut {
		if !documented[route] {
			t.Errorf("%s is left out, and does not exist", route)
		}
	}
}
