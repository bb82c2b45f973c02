package helm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// oldestKubernetes is the oldest version that the chart supports. Its OpenAPI schemas find what the Go types do not:
// fields that are missing.
const oldestKubernetes = "1.30"

// openAPI has the compiled schemas by apiVersion and kind.
type openAPI struct {
	mu        sync.Mutex
	documents map[string]any // by apiVersion
	schemas   map[schema.GroupVersionKind]*jsonschema.Schema
}

var oldest = &openAPI{documents: map[string]any{}, schemas: map[schema.GroupVersionKind]*jsonschema.Schema{}}

// schemasDir returns the folder of the schemas, which are files of a module. Its package for them does not compile
// with the version of client-go that Helm requires.
var schemasDir = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kubectl-validate").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "pkg", "openapiclient", "builtins", oldestKubernetes), err
})

// validate validates an object in YAML against the schema of its kind.
func (o *openAPI) validate(kind schema.GroupVersionKind, text string) error {
	compiled, err := o.schema(kind)
	if err != nil {
		return err
	}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return err
	}
	return compiled.Validate(instance)
}

func (o *openAPI) schema(kind schema.GroupVersionKind) (*jsonschema.Schema, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.schemas[kind]; known != nil {
		return known, nil
	}
	document, err := o.document(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	name := nameOf(document, kind)
	if name == "" {
		return nil, fmt.Errorf("Kubernetes %s has no %s", oldestKubernetes, kind)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("mem:///openapi.json", document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile("mem:///openapi.json#/components/schemas/" + name)
	if err == nil {
		o.schemas[kind] = compiled
	}
	return compiled, err
}

// document returns the OpenAPI document of a group and version.
func (o *openAPI) document(version schema.GroupVersion) (any, error) {
	if known := o.documents[version.String()]; known != nil {
		return known, nil
	}
	dir, err := schemasDir()
	if err != nil {
		return nil, err
	}
	path := "apis/" + version.String()
	if version.Group == "" {
		path = "api/" + version.Version
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)+".json"))
	if err != nil {
		return nil, fmt.Errorf("Kubernetes %s: %w", oldestKubernetes, err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		o.documents[version.String()] = document
	}
	return document, err
}

// nameOf returns the name of the schema of a kind in a document.
func nameOf(document any, kind schema.GroupVersionKind) string {
	components, _ := document.(map[string]any)["components"].(map[string]any)
	all, _ := components["schemas"].(map[string]any)
	suffix := "." + kind.Version + "." + kind.Kind
	for name := range all {
		if strings.HasSuffix(name, suffix) {
			return name
		}
	}
	return ""
}
