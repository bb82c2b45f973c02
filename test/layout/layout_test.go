// Package layout tests that packages only import packages of lower layers, as the table of
// layers in docs/architecture.md defines.
package layout

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	repoRoot = "../.."
	module   = "github.com/livegraph/livegraph/"
)

// layers are the folders of each layer, the lowest last.
type layers [][]string

var folderLink = regexp.MustCompile(`\[([a-z/]+)\]\(\.\./([a-z/]+)\)`)

// readLayers reads the table of docs/architecture.md.
func readLayers(t *testing.T) (found layers) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(repoRoot, "docs", "architecture.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## Layers\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[2], "[") {
			continue
		}
		var folders []string
		for _, m := range folderLink.FindAllStringSubmatch(cells[2], -1) {
			require.Equal(t, m[1], m[2])
			folders = append(folders, m[1])
		}
		found = append(found, folders)
	}
	return found
}

// find returns the layer of a package, counted from the top, and its folder in the table.
func (l layers) find(pkg string) (layer int, folder string, ok bool) {
	for i, folders := range l {
		for _, f := range folders {
			if pkg == f || strings.HasPrefix(pkg, f+"/") {
				return i, f, true
			}
		}
	}
	return 0, "", false
}

// imports returns the packages of this module that each package imports, without the
// module's name. It does not contain imports of tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	graph, err := listImports()
	require.NoError(t, err)
	return graph
}

// listImports runs go list, which takes seconds, once.
var listImports = sync.OnceValues(func() (map[string][]string, error) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...", module+"sdk/go")
	list.Dir = repoRoot
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, err
	}
	graph := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		pkg, ours := strings.CutPrefix(fields[0], module)
		if !ours || strings.HasPrefix(pkg, "test/") || strings.HasPrefix(pkg, "docs/") {
			continue // above all layers
		}
		graph[pkg] = nil
		for _, path := range fields[1:] {
			if imported, ours := strings.CutPrefix(path, module); ours {
				graph[pkg] = append(graph[pkg], imported)
			}
		}
	}
	return graph, nil
})

// violations returns the imports that are not from a lower layer, and packages without a layer.
func violations(l layers, graph map[string][]string) (problems []string) {
	for pkg, imported := range graph {
		from, folder, ok := l.find(pkg)
		if !ok {
			problems = append(problems, pkg+" is in no layer")
			continue
		}
		for _, other := range imported {
			to, otherFolder, ok := l.find(other)
			switch {
			case !ok:
				problems = append(problems, fmt.Sprintf("%s imports %s, which is in no layer", pkg, other))
			case otherFolder != folder && to <= from:
				problems = append(problems, fmt.Sprintf("%s imports %s, which is not below it", pkg, other))
			}
		}
	}
	return problems
}

func TestPackagesImportDownwardsOnly(t *testing.T) {
	graph := imports(t)
	require.Greater(t, len(graph), 80)
	require.Empty(t, violations(readLayers(t), graph))
}

func TestEachFolderIsInOneLayer(t *testing.T) {
	seen, found := map[string]bool{}, readLayers(t)
	require.Greater(t, len(found), 6)
	graph := imports(t)
	for _, folders := range found {
		require.NotEmpty(t, folders)
		for _, folder := range folders {
			require.False(t, seen[folder], "%s is in two layers", folder)
			seen[folder] = true
			used := false
			for pkg := range graph {
				used = used || pkg == folder || strings.HasPrefix(pkg, folder+"/")
			}
			require.True(t, used, "%s has no package", folder)
		}
	}
}

func TestAnImportUpwardsOrSidewaysIsReported(t *testing.T) {
	l := layers{{"internal/app"}, {"api", "consumers"}, {"storage"}}
	require.Empty(t, violations(l, map[string][]string{
		"internal/app/cli": {"api/auth", "storage/redis", "internal/app/process"}, "api/auth": {"api/reply", "storage/redis"},
	}))
	for pkg, imported := range map[string]string{
		"storage/redis": "api/auth", "api/auth": "consumers/points", "consumers/points": "internal/app/cli",
		"api/reply": "internal/util", "tools": "storage/redis",
	} {
		require.Len(t, violations(l, map[string][]string{pkg: {imported}}), 1, "%s imports %s", pkg, imported)
	}
}

// maxLines is the maximum of the lines of a package, without its tests and generated files.
const maxLines = 4000

// lines returns the lines of each package, without tests and generated files.
func lines(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for pkg := range imports(t) {
		files, err := filepath.Glob(filepath.Join(repoRoot, pkg, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".pb.go") || strings.HasSuffix(file, ".gen.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			count[pkg] += strings.Count(string(text), "\n")
		}
	}
	return count
}

func TestPackagesStaySmall(t *testing.T) {
	total := 0
	for pkg, n := range lines(t) {
		total += n
		require.LessOrEqual(t, n, maxLines, "%s is to be divided", pkg)
	}
	require.Greater(t, total, 50_000, "all packages are counted")
}
