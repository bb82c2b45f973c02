// Package compose loads docker-compose.yml in the same way as Docker Compose, without a Docker engine,
// and verifies the requirements of a production stack. Only deploy/smoke.sh, on a machine with Docker,
// tests that the containers start and work together. roles_test.go tests the settings of Livegraph's
// own containers on the embedded engines.
package compose

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// Files, relative to this folder.
const (
	root        = "../.."
	composeFile = root + "/docker-compose.yml"
	exampleEnv  = root + "/deploy/.env.example"
	dockerfile  = "deploy/Dockerfile" // from the root

	embedderDockerfile = "deploy/embedder/Dockerfile" // from the root
)

// Livegraph's services, and the embedder, which is built from this repository, too.
const (
	apiService      = "livegraph-api"
	pointsService   = "livegraph-points"
	commandsService = "livegraph-commands"
	indexService    = "livegraph-embeddings"
	rulesService    = "livegraph-rules"

	embedderService = "embedder"
)

// monitoring is the profile of Prometheus and Grafana; monitors are its services.
const monitoring = "monitoring"

var monitors = []string{"prometheus", "grafana"}

// livegraph lists Livegraph's services.
var livegraph = []string{apiService, pointsService, commandsService, indexService, rulesService}

// consumerServices are the services without stored data.
var consumerServices = livegraph[1:]

// assignment is a line of an environment file.
var assignment = regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)

// example returns the variables of the example environment.
func example(t *testing.T) map[string]string {
	t.Helper()
	payload, err := os.ReadFile(exampleEnv)
	require.NoError(t, err)
	variables := map[string]string{}
	for _, line := range assignment.FindAllStringSubmatch(string(payload), -1) {
		require.NotContains(t, variables, line[1], "set twice in %s", exampleEnv)
		variables[line[1]] = line[2]
	}
	return variables
}

// passwords returns the names of the variables that the operator must set.
func passwords(t *testing.T) []string {
	t.Helper()
	var names []string
	for name := range example(t) {
		if strings.HasSuffix(name, "_PASSWORD") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	require.NotEmpty(t, names)
	return names
}

// canary returns a unique value for a password, so that a test can search for it.
func canary(name string) string {
	return "canary0" + strings.ToLower(strings.ReplaceAll(name, "_", "0"))
}

// filledExample returns the example environment with canaries for its secrets and with changes.
func filledExample(t *testing.T, changes map[string]string) map[string]string {
	t.Helper()
	variables := example(t)
	for name := range variables {
		if strings.HasSuffix(name, "_PASSWORD") || strings.HasSuffix(name, "_KEY") {
			variables[name] = canary(name)
		}
	}
	maps.Copy(variables, changes)
	return variables
}

// load loads docker-compose.yml with every profile. The variables are in an environment file, and the
// process's own environment is ignored.
func load(t *testing.T, variables map[string]string) (*types.Project, error) {
	t.Helper()
	return loadProfiles(t, variables, monitoring)
}

func loadProfiles(t *testing.T, variables map[string]string, profiles ...string) (*types.Project, error) {
	t.Helper()
	var file strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&file, "%s=%s\n", name, variables[name])
	}
	path := filepath.Join(t.TempDir(), ".env")
	require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o600))
	options, err := cli.NewProjectOptions([]string{composeFile},
		cli.WithWorkingDirectory(root), cli.WithEnvFiles(path), cli.WithDotEnv, cli.WithProfiles(profiles))
	require.NoError(t, err)
	return options.LoadProject(context.Background())
}

// stack returns the stack with the filled example environment.
func stack(t *testing.T) *types.Project {
	t.Helper()
	project, err := load(t, filledExample(t, nil))
	require.NoError(t, err)
	require.NotEmpty(t, project.Services)
	return project
}

// variablesUsed returns the variables in docker-compose.yml.
func variablesUsed(t *testing.T) map[string]template.Variable {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{composeFile},
		cli.WithWorkingDirectory(root), cli.WithInterpolation(false),
		cli.WithLoadOptions(func(o *loader.Options) { o.SkipValidation = true }))
	require.NoError(t, err)
	raw, err := options.LoadModel(context.Background())
	require.NoError(t, err)
	used := template.ExtractVariables(raw, template.DefaultPattern)
	// A default may contain another variable.
	for _, v := range used {
		nested := template.ExtractVariables(map[string]any{"default": v.DefaultValue}, template.DefaultPattern)
		for name, inner := range nested {
			if _, known := used[name]; !known {
				used[name] = inner
			}
		}
	}
	return used
}

// environment returns a service's variables that have a value.
func environment(service types.ServiceConfig) map[string]string {
	values := map[string]string{}
	for name, value := range service.Environment {
		if value != nil {
			values[name] = *value
		}
	}
	return values
}

// forEachService runs a test for each service.
func forEachService(
	t *testing.T, project *types.Project, check func(t *testing.T, name string, service types.ServiceConfig),
) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		t.Run(name, func(t *testing.T) { check(t, name, project.Services[name]) })
	}
}
