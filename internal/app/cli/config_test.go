package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// call runs the command line and returns its exit code and output.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main("test", args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestThePrintedSettingsAreAValidFile(t *testing.T) {
	code, printed, stderr := call(
		t, "config", "--listen", "127.0.0.1:1", "--kafka-brokers", "a:1,b:2", "--api-read-timeout", "90s",
	)
	require.Zero(t, code, stderr)
	require.Contains(t, printed, `listen: "127.0.0.1:1"`)
	require.Contains(t, printed, `kafka-brokers: ["a:1","b:2"]`)
	require.Contains(t, printed, `api-read-timeout: "1m30s"`)

	path := filepath.Join(t.TempDir(), "livegraph.yaml")
	require.NoError(t, os.WriteFile(path, []byte(printed), 0o600))
	code, again, stderr := call(t, "config", "--config", path)
	require.Zero(t, code, stderr)
	require.Equal(t, printed, again)
}

func TestThePrintedSettingsHideSecrets(t *testing.T) {
	t.Setenv("LIVEGRAPH_POSTGRES_URL", "postgres://u:sekrit@h/db")
	for _, args := range [][]string{{"config"}, {"config", "--json"}} {
		code, printed, stderr := call(t, args...)
		require.Zero(t, code, stderr)
		require.NotContains(t, printed, "sekrit")
		require.Contains(t, printed, "********")
	}
	_, printed, _ := call(t, "config", "--json")
	require.Equal(t, "5s", decode[map[string]any](t, printed)["ingest-produce-timeout"])
}

func TestTheHelpOfAToolOmitsMostSettings(t *testing.T) {
	help := func(args ...string) string {
		var out bytes.Buffer
		parser, err := newParser(t.Context(), "test", &out, &out)
		require.NoError(t, err)
		command, err := parser.Parse(args)
		require.NoError(t, err)
		require.NoError(t, command.PrintUsage(false))
		return out.String()
	}
	for _, args := range [][]string{{"topics"}, {"keys", "list"}} {
		text := help(args...)
		require.Contains(t, text, "--data-dir=")
		require.NotContains(t, text, "--kafka-brokers=", args)
	}
	require.Contains(t, help("topics"), "--json ", "a flag of the command with the name of a flag of config")
	for _, args := range [][]string{{"serve"}, {"config"}} {
		require.Contains(t, help(args...), "--kafka-brokers=", args)
	}
}

func TestSettingsMayPrecedeTheCommandAndAreValidatedByThoseThatUseThem(t *testing.T) {
	dir := t.TempDir()
	code, _, stderr := call(t, "--data-dir", dir, "keys", "list")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "no server runs on "+dir)
	t.Setenv("LIVEGRAPH_ROLES", "none")
	code, _, stderr = call(t, "keys", "list")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `keys list: --roles: "none" is not one of`)
	code, printed, stderr := call(t, "version")
	require.Zero(t, code, stderr)
	require.Contains(t, printed, "livegraph test")
}

func TestAnInvalidIDIsReported(t *testing.T) {
	for _, args := range [][]string{
		{"keys", "revoke", "zzz"}, {"keys", "list", "--workspace", "zzz"},
		{"keys", "create", "--name", "x", "--workspace", "zzz"},
	} {
		code, _, stderr := call(t, args...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, `"zzz" is not a UUID`)
	}
}

func TestThePublishedReferenceOfTheSettingsIsTheBinarys(t *testing.T) {
	code, printed, stderr := call(t, "config", "--reference")
	require.Zero(t, code, stderr)
	require.Contains(t, printed, "| `--listen` | `LIVEGRAPH_LISTEN` | `127.0.0.1:8080` |")
	published, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "settings.md"))
	require.NoError(t, err)
	require.Equal(t, string(published), printed, "docs/settings.md is stale: run `make generate`")
}
