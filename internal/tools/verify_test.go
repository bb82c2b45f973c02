package tools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tool builds a tool of a module and returns the folder of the binary.
func tool(t *testing.T, module, path string) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+"/", path)
	build.Dir = module
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return dir
}

// check runs the script for one Go module or one npm folder.
func check(t *testing.T, env ...string) (output string, status int) {
	t.Helper()
	script := exec.Command("./vulnerabilities.sh")
	script.Env = slices.Concat(os.Environ(), []string{"OFFLINE="}, env) // it may be set in the environment of the tests
	text, err := script.CombinedOutput()
	if script.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(text), script.ProcessState.ExitCode()
}

// write writes files, given by their paths.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
}

// vulnerabilityDatabase creates a vulnerability database with one entry, for a function of package
// os, or without entries.
func vulnerabilityDatabase(t *testing.T, withEntry bool) (address string) {
	t.Helper()
	const when = `"2026-01-01T00:00:00Z"`
	files := map[string]string{
		"index/db.json": `{"modified":` + when + `}`, "index/modules.json": `[]`, "index/vulns.json": `[]`,
	}
	if withEntry {
		files["index/modules.json"] = `[{"path":"stdlib","vulns":[{"id":"GO-2026-0001","modified":` + when + `}]}]`
		files["index/vulns.json"] = `[{"id":"GO-2026-0001","modified":` + when + `}]`
		files["ID/GO-2026-0001.json"] = `{"schema_version":"1.3.1","id":"GO-2026-0001","modified":` +
			when + `,"published":` + when + `,"details":"made for a test","database_specific":{"url":"https://example.com"},
			"affected":[{"package":{"name":"stdlib","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
			"ecosystem_specific":{"imports":[{"path":"os","symbols":["Getenv"]}]}}]}`
	}
	dir := t.TempDir()
	write(t, dir, files)
	return "file://" + dir
}

func TestAKnownVulnerabilityFails(t *testing.T) {
	tools := "TOOLS=" + tool(t, "security", "golang.org/x/vuln/cmd/govulncheck")
	module := t.TempDir()
	write(t, module, map[string]string{
		"go.mod":  "module example.com/m\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"os\"\n\nfunc main() { println(os.Getenv(\"X\")) }\n",
	})
	settings := []string{tools, "GO_MODULES=" + module, "NPM_FOLDERS="}

	output, status := check(t, append(settings, "GOVULNDB="+vulnerabilityDatabase(t, true))...)
	require.Equal(t, 1, status, output)
	require.Contains(t, output, "GO-2026-0001")
	output, status = check(t, append(settings, "GOVULNDB="+vulnerabilityDatabase(t, false))...)
	require.Zero(t, status, output)
	require.Contains(t, output, "nothing is known")

	unreachable := "GOVULNDB=https://127.0.0.1:1"
	output, status = check(t, append(settings, unreachable)...)
	require.Equal(t, 2, status, output)
	require.Contains(t, output, "NOT RUN: govulncheck")
	output, status = check(t, append(settings, unreachable, "OFFLINE=1")...)
	require.Zero(t, status, output)
	require.Contains(t, output, "NOT RUN: govulncheck")
	require.NotContains(t, output, "nothing is known")
}

// registry starts a server that responds to vulnerability requests like the npm registry.
func registry(t *testing.T, advisories string) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/security/advisories/bulk") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{}`))
			return
		}
		_, _ = w.Write([]byte(advisories))
	}))
	t.Cleanup(server.Close)
	return "npm_config_registry=" + server.URL + "/"
}

func TestAKnownVulnerabilityOfAnNPMPackageFails(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"package.json": `{"name":"m","version":"1.0.0","dependencies":{"left":"1.0.0"}}`,
		"package-lock.json": `{"name":"m","version":"1.0.0","lockfileVersion":3,"requires":true,
			"packages":{"":{"name":"m","version":"1.0.0","dependencies":{"left":"1.0.0"}},
			"node_modules/left":{"version":"1.0.0","license":"MIT"}}}`,
	})
	settings := []string{
		"GO_MODULES=", "NPM_FOLDERS=" + folder, "npm_config_cache=" + t.TempDir(), "npm_config_fetch_retries=0",
	}
	output, status := check(
		t,
		append(settings, registry(
			t,
			`{"left":[{"id":1,"url":"https://example.com","title":"made for a test","severity":"high",
				"vulnerable_versions":"*"}]}`,
		))...,
	)
	require.Equal(t, 1, status, output)
	require.Contains(t, output, "FOUND: npm audit")
	output, status = check(t, append(settings, registry(t, `{}`))...)
	require.Zero(t, status, output)
	require.Contains(t, output, "nothing is known")
	output, status = check(t, append(settings, "npm_config_registry=http://127.0.0.1:1/")...)
	require.Equal(t, 2, status, output)
	require.Contains(t, output, "NOT RUN: npm audit")
}

func TestASecretInTheTreeOrItsHistoryFails(t *testing.T) {
	gitleaks := filepath.Join(tool(t, "security", "github.com/zricethezav/gitleaks/v8"), "gitleaks")
	config, err := filepath.Abs("../../.gitleaks.toml")
	require.NoError(t, err)
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		output, err := exec.Command(
			"git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...,
		).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	scan := func(options ...string) (found []string) {
		t.Helper()
		report := filepath.Join(t.TempDir(), "report.json")
		run := exec.Command(
			gitleaks, append([]string{"git", "--no-banner", "--config", config, "--report-path", report, dir}, options...)...,
		)
		var stderr bytes.Buffer
		run.Stderr = &stderr
		err := run.Run()
		var leaks []struct{ RuleID string }
		text, readErr := os.ReadFile(report)
		require.NoError(t, readErr, "%s", &stderr)
		require.NoError(t, json.Unmarshal(text, &leaks))
		require.Equal(t, len(leaks) > 0, err != nil, "%s", &stderr)
		for _, leak := range leaks {
			found = append(found, leak.RuleID)
		}
		return found
	}
	git("init", "-q")
	write(t, dir, map[string]string{"a.txt": "nothing\n"})
	git("add", ".")
	git("commit", "-qm", "a")
	require.Empty(t, scan())
	// The key is concatenated so that it is not found in this file.
	key := "lg_live_" + strings.Repeat("0aB9xY", 7)[:38]
	write(t, dir, map[string]string{"a.txt": "nothing\nkey: " + key + "\n"})
	require.Equal(t, []string{"livegraph-api-key"}, scan("--pre-commit"))
	git("commit", "-qam", "b")
	write(t, dir, map[string]string{"a.txt": "nothing\n"})
	git("commit", "-qam", "c")
	require.Equal(t, []string{"livegraph-api-key"}, scan(), "it is in the history")
	write(t, dir, map[string]string{"b.txt": fmt.Sprintf(
		"token = \"gh%s_%s\"\n", "p", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx",
	)})
	git("add", ".")
	require.Contains(t, scan("--staged", "--pre-commit"), "github-pat")
}
