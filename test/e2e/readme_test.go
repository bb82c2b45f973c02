package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shellBlock returns the first block of commands under a heading of the README.
func shellBlock(t *testing.T, heading string) string {
	t.Helper()
	return shellBlockOf(t, "README.md", heading)
}

// shellBlockOf returns the first block of commands under a heading of a page.
func shellBlockOf(t *testing.T, name, heading string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found, "%s has no section %s", name, heading)
	_, rest, found = strings.Cut(rest, "```sh\n")
	require.True(t, found, "the section %s has no commands", heading)
	commands, _, _ := strings.Cut(rest, "```")
	return commands
}

// testGraphOfREADME runs the section with the variables of the first steps.
func testGraphOfREADME(t *testing.T, server *server) {
	first, _, found := strings.Cut(shellBlock(t, "First steps"), "\n\n") // the variables
	require.True(t, found)
	answers := paste(t, server, first+"\n"+shellBlock(t, "Graph"))
	require.Len(t, answers, 7)
	text := func(n int) string {
		payload, err := json.Marshal(answers[n]["data"])
		require.NoError(t, err)
		return string(payload)
	}
	require.Contains(t, text(0), `"CREATE_EDGE"`)
	require.Contains(t, text(1), `"kW":15`)
	require.Contains(t, text(2), "Pump 7", "it is a neighbor of the hall")
	require.Contains(t, text(3), "Pump 7")
	require.Contains(t, text(4), "located in", "it is the edge of the path")
	require.Contains(t, text(5), `"kW":11`, "the undo brings back what was")
	require.Contains(t, text(6), `"effect":`)
	require.Contains(t, text(6), "SN-8")
}

// testSearchOfREADME runs the section after the graph, whose nodes it finds.
func testSearchOfREADME(t *testing.T, server *server) {
	first, _, found := strings.Cut(shellBlock(t, "First steps"), "\n\n") // the variables
	require.True(t, found)
	answers := paste(t, server, first+"\n"+shellBlock(t, "Graph")+"\n"+strings.Replace(
		shellBlock(t, "Search"), "sleep 3", "sleep 10", 1,
	))
	require.Len(t, answers, 9)
	for n, name := range map[int]string{7: "Pump 7", 8: "Hall 3"} {
		payload, err := json.Marshal(answers[n]["data"])
		require.NoError(t, err)
		require.Contains(t, string(payload), `"name":"`+name+`"`)
	}
}

// testFirstStepsOfREADME runs the README's commands in a new user's shell. The test replaces only the
// address and the directory.
func testFirstStepsOfREADME(t *testing.T, server *server) {
	answers := paste(t, server, shellBlock(t, "First steps"))
	require.Len(t, answers, 4)
	require.EqualValues(t, 2, answers[1]["data"].(map[string]any)["accepted"])
	for _, shown := range answers[2:] {
		text, err := json.Marshal(shown)
		require.NoError(t, err)
		require.Contains(t, string(text), "71.5", "the temperature is not in the answer")
	}
}

// testLinesOfREADME runs the section with the variables of the first steps.
func testLinesOfREADME(t *testing.T, server *server) {
	first, _, found := strings.Cut(shellBlock(t, "First steps"), "\n\n") // the variables
	require.True(t, found)
	answers := paste(t, server, first+"\n"+shellBlock(t, "Line protocol"))
	require.Len(t, answers, 1)
	require.EqualValues(t, 2, answers[0]["data"].(map[string]any)["accepted"])
}

// paste runs commands like a new user and returns the answers that they print.
func paste(t *testing.T, server *server, commands string) (answers []map[string]any) {
	t.Helper()
	require.Contains(t, commands, "http://127.0.0.1:8080")
	commands = strings.ReplaceAll(commands, "http://127.0.0.1:8080", "http://"+server.Listen)
	require.Contains(t, commands, `"data/first-run.json"`)
	shell := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = t.TempDir()
	firstRun(t, server, filepath.Join(shell.Dir, "data"))
	shell.Env = append(os.Environ(), "no_proxy=*")
	printed, err := shell.Output()
	require.NoError(t, err, "%s", printed)
	for decoder := json.NewDecoder(strings.NewReader(string(printed))); decoder.More(); {
		var answer map[string]any
		require.NoError(t, decoder.Decode(&answer), "%s", printed)
		require.Equal(t, true, answer["success"], "%s", printed)
		answers = append(answers, answer)
	}
	return answers
}

// firstRun writes first-run.json of the server with the workspace and the key of this test.
func firstRun(t *testing.T, server *server, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(server.DataDir, "first-run.json"))
	require.NoError(t, err)
	var members map[string]any
	require.NoError(t, json.Unmarshal(text, &members))
	require.Contains(t, members, "workspaceId")
	require.Contains(t, members, "adminKey")
	members["workspaceId"], members["adminKey"] = server.First.WorkspaceID, server.First.AdminKey
	text, err = json.Marshal(members)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first-run.json"), text, 0o600))
}
