package compose

import (
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// instruction is an instruction of a Dockerfile with its continuation lines joined.
type instruction struct{ name, text string }

func instructions(t *testing.T, file string) []instruction {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	var list []instruction
	var open bool
	for line := range strings.Lines(string(payload)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		more := strings.HasSuffix(line, `\`)
		line = strings.TrimSpace(strings.TrimSuffix(line, `\`))
		if open {
			list[len(list)-1].text += " " + line
		} else {
			name, text, _ := strings.Cut(line, " ")
			list = append(list, instruction{name, strings.TrimSpace(text)})
		}
		open = more
	}
	return list
}

// instructionTexts returns the texts of the instructions with a name; final selects the last stage
// only.
func instructionTexts(t *testing.T, file, name string, final bool) []string {
	t.Helper()
	var texts []string
	for _, i := range instructions(t, file) {
		if final && i.name == "FROM" {
			texts = nil
		}
		if i.name == name {
			texts = append(texts, i.text)
		}
	}
	return texts
}

// imageUser returns the image's user as uid:gid.
func imageUser(t *testing.T, file string) string {
	t.Helper()
	users := instructionTexts(t, file, "USER", true)
	require.Len(t, users, 1)
	return users[0]
}

// imageEnvironment returns the variables of the final stage.
func imageEnvironment(t *testing.T, file string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, text := range instructionTexts(t, file, "ENV", true) {
		for _, pair := range strings.Fields(text) {
			name, value, _ := strings.Cut(pair, "=")
			values[name] = value
		}
	}
	require.NotEmpty(t, values)
	return values
}

func TestLivegraphIsBuiltFromADockerfileThatExists(t *testing.T) {
	project := stack(t)
	for _, name := range livegraph {
		build := project.Services[name].Build
		require.NotNil(t, build)
		repository, err := filepath.Abs(root)
		require.NoError(t, err)
		require.Equal(t, repository, filepath.Clean(build.Context))
		require.Equal(t, dockerfile, build.Dockerfile)
		require.FileExists(t, filepath.Join(build.Context, build.Dockerfile))
		for argument := range build.Args {
			arguments := strings.Join(instructionTexts(t, dockerfile, "ARG", false), "\n")
			require.Contains(t, arguments, argument, "the Dockerfile does not take it")
		}
	}
}

func TestTheImageIsTheBinaryAloneAndNotRoot(t *testing.T) {
	stages := instructionTexts(t, dockerfile, "FROM", false)
	require.Len(t, stages, 3, "one for the page, one to build, one to run")
	for _, stage := range stages {
		image := regexp.MustCompile(`^(?:--platform=\S+ )?(\S+)(?: AS \w+)?$`).FindStringSubmatch(stage)
		require.NotNil(t, image, stage)
		require.Regexp(t, exactVersion, tagOf(image[1]), "FROM %s", stage)
	}
	require.Regexp(
		t, `^[1-9]\d+:[1-9]\d+$`, imageUser(t, dockerfile), "by number, so that Kubernetes can tell that it is not root",
	)
	require.Equal(t, []string{`["livegraph"]`}, instructionTexts(t, dockerfile, "ENTRYPOINT", true))
	require.Equal(t, []string{`["serve"]`}, instructionTexts(t, dockerfile, "CMD", true))
	require.Empty(t, instructionTexts(t, dockerfile, "ADD", false))

	copied := instructionTexts(t, dockerfile, "COPY", true)
	require.Contains(t, copied, "--from=build /out/livegraph /usr/local/bin/livegraph")
	for _, text := range copied {
		require.NotRegexp(t, `^\.|\.py\b|requirements`, text, "only the binary and its licence")
	}
	everything := strings.Join(instructionTexts(t, dockerfile, "RUN", false), "\n")
	require.NotRegexp(t, `(?i)python|pip |apk add`, everything)
	require.Contains(t, everything, "CGO_ENABLED=0")
	require.Contains(t, everything, "-trimpath")
	require.Contains(t, everything, "-X main.version=$VERSION")
}

func TestTheImageChecksItsReadiness(t *testing.T) {
	checks := instructionTexts(t, dockerfile, "HEALTHCHECK", true)
	require.Len(t, checks, 1)
	_, listens, _ := strings.Cut(imageEnvironment(t, dockerfile)["LIVEGRAPH_LISTEN"], ":")
	require.Contains(t, checks[0], "http://127.0.0.1:"+listens+"/readyz")

	check := stack(t).Services[apiService].HealthCheck.Test
	require.Contains(t, check[len(check)-1], "/readyz")
}

func TestTheImageIsBuiltByAGoThatIsNewEnough(t *testing.T) {
	payload, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	needed := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(payload))
	require.NotNil(t, needed)
	builder := regexp.MustCompile(`golang:([\d.]+)`).FindStringSubmatch(strings.Join(
		instructionTexts(t, dockerfile, "FROM", false), "\n",
	))
	require.NotNil(t, builder)
	require.GreaterOrEqual(t, version.Compare("go"+builder[1], "go"+needed[1]), 0,
		"the image has Go %s, go.mod wants %s", builder[1], needed[1])
}

// TestTheImageHasTheModulesThatAreReplaced requires their go.mod before the download of modules, which reads it.
func TestTheImageHasTheModulesThatAreReplaced(t *testing.T) {
	payload, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	replaced := regexp.MustCompile(`(?m)^replace \S+ => \./(\S+)$`).FindAllStringSubmatch(string(payload), -1)
	require.NotEmpty(t, replaced)
	text, err := os.ReadFile(filepath.Join(root, dockerfile))
	require.NoError(t, err)
	before, _, found := strings.Cut(string(text), "go mod download")
	require.True(t, found)
	for _, m := range replaced {
		require.Contains(t, before, "COPY "+m[1]+"/go.mod "+m[1]+"/\n")
	}
}

func TestTheBuildContextHasTheSourcesAndNothingPrivate(t *testing.T) {
	ignored := ignoredByTheBuilder(t)
	for _, private := range []string{".git", ".env", "data", "bin", "**/first-run.json"} {
		require.True(t, ignored[private], "%s would be sent to the builder", private)
	}

	const module = "github.com/livegraph/livegraph/"
	list := exec.Command("go", "list", "-deps", "-f",
		`{{$dir := .ImportPath}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`+
			`{{range .EmbedFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`,
		"./cmd/livegraph")
	list.Dir = root
	output, err := list.Output()
	require.NoError(t, err)
	files := []string{"go.mod", "go.sum", "sdk/go/go.mod", "LICENSE"}
	for line := range strings.Lines(string(output)) {
		file, ours := strings.CutPrefix(strings.TrimSpace(line), module)
		if ours && !strings.HasPrefix(file, "web/dist/") { // the stage of the web UI generates those
			files = append(files, file)
		}
	}
	require.Contains(t, files, "cmd/livegraph/main.go")
	files = append(files, "web/package.json", "web/package-lock.json", "web/.npmrc", "web/index.html", "web/src/main.tsx")
	requireInContext(t, files...)
}

// ignoredByTheBuilder returns the patterns of .dockerignore.
func ignoredByTheBuilder(t *testing.T) map[string]bool {
	t.Helper()
	payload, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	require.NoError(t, err)
	ignored := map[string]bool{}
	for line := range strings.Lines(string(payload)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			require.False(t, strings.HasPrefix(line, "!"), "this test does not understand exceptions")
			ignored[line] = true
		}
	}
	return ignored
}

// requireInContext requires that the build context contains these files.
func requireInContext(t *testing.T, files ...string) {
	t.Helper()
	for pattern := range ignoredByTheBuilder(t) {
		for _, file := range files {
			require.False(t, matches(t, pattern, file), "the build needs %s, which %s leaves out", file, pattern)
		}
	}
}

// matches reports whether a pattern of .dockerignore matches a file or a folder above it. **/ matches
// any folder.
func matches(t *testing.T, pattern, file string) bool {
	t.Helper()
	rest, anywhere := strings.CutPrefix(pattern, "**/")
	parts := strings.Split(file, "/")
	for from := range parts {
		for to := from + 1; to <= len(parts); to++ {
			hit, err := filepath.Match(rest, strings.Join(parts[from:to], "/"))
			require.NoError(t, err)
			if hit {
				return true
			}
		}
		if !anywhere {
			break
		}
	}
	return false
}
