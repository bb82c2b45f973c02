package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/documentfiles"
	"github.com/livegraph/livegraph/test/testenv"
)

const documentClients = 8

// wikiPage returns the content of a document in a version. Every third one has several passages, and
// versions differ in some of these.
func wikiPage(index, version int) map[string]any {
	text := fmt.Sprintf("Page %d is short in version %d. See Page %d.", index, version, index+version)
	if index%3 == 0 {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "Sentence %d of page %d says that the pump moves water. ", i, index)
			if i%20 == 0 {
				fmt.Fprintf(&b, "This is version %d. ", version)
			}
		}
		text = b.String()
	}
	return map[string]any{
		"externalId": fmt.Sprintf("wiki/%d", index), "title": fmt.Sprintf("Page %d", index), "text": text,
	}
}

// TestDocumentsOutliveKills sends documents in two versions from concurrent clients, which repeat what
// was not answered, while the process is killed. The graph, with the links between the documents, is
// then the same as that of another workspace that got only the second version, without a kill.
func TestDocumentsOutliveKills(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Start()
	const pages = 900
	versions := []int{1, 2}
	post := func(server *server, from, to, version int) (statuses []string, ok bool) {
		var list []map[string]any
		for i := from; i < to; i++ {
			list = append(list, wikiPage(i, version))
		}
		body, err := json.Marshal(map[string]any{"documents": list})
		require.NoError(t, err)
		a, err := server.Try(http.MethodPost, "/api/documents", body)
		if err != nil || a.Status >= 500 {
			time.Sleep(20 * time.Millisecond)
			return nil, false
		}
		if a.Status != http.StatusAccepted {
			panic(fmt.Sprintf("%d %+v", a.Status, a.Error))
		}
		var data struct{ Documents []struct{ Status string } }
		if err := json.Unmarshal(a.Data, &data); err != nil {
			panic(err)
		}
		for _, d := range data.Documents {
			statuses = append(statuses, d.Status)
		}
		return statuses, true
	}
	var failed, sent atomic.Int64
	var clients sync.WaitGroup
	for client := range documentClients {
		clients.Go(func() {
			for from := client * 6; from < pages; from += 6 * documentClients {
				for _, version := range versions {
					for {
						if _, ok := post(s, from, min(from+6, pages), version); ok {
							break
						}
						failed.Add(1)
					}
					sent.Add(1)
				}
			}
		})
	}
	total := int64(len(versions) * (pages + 5) / 6)
	for kill := range int64(2) {
		for deadline := time.Now().Add(time.Minute); sent.Load() < total*(kill+1)/4 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		s.Crash()
	}
	clients.Wait()
	t.Logf("%d requests were repeated", failed.Load())
	require.Positive(t, failed.Load(), "the kills came in the middle")
	again, ok := post(s, 0, pages, 2)
	require.True(t, ok)
	for _, status := range again {
		require.Equal(t, "unchanged", status)
	}

	workspace := s.workspace()
	other := &server{Server: s.Tenant(t, workspace, s.key(workspace, "--scope", "admin").Key), t: t}
	_, ok = post(other, 0, pages, 2)
	require.True(t, ok)
	s.waitLinked()
	other.waitLinked()
	want, got := contentOf(t, listGraph(other)), contentOf(t, listGraph(s))
	require.Equal(t, want, got)
	require.Equal(t, 1, got["Page 1 -mentions-> Page 3"])
	require.Zero(t, got["Page 1 -mentions-> Page 2"], "the first version is gone")
	s.CLI("workspaces", "update", s.First.WorkspaceID, "--links", "off")
	s.waitLinked()
	require.Zero(t, contentOf(t, listGraph(s))["Page 1 -mentions-> Page 3"])
}

// waitLinked waits until all texts are indexed by words and compared with their links.
func (s *server) waitLinked() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var status struct {
			Text  struct{ Lag struct{ Events int } }
			Links struct{ Pending int }
		}
		s.Do(http.MethodGet, "/api/rag/index/status", nil, http.StatusOK, &status)
		return status.Text.Lag.Events == 0 && status.Links.Pending == 0
	}, 2*time.Minute, 100*time.Millisecond)
}

// contentOf returns the nodes and edges of a graph of documents, without ids and versions.
func contentOf(t *testing.T, g graphState) (lines map[string]int) {
	t.Helper()
	lines = map[string]int{}
	names := map[uuid.UUID]string{}
	for id, n := range g.nodes {
		var p struct{ Document map[string]any }
		require.NoError(t, json.Unmarshal(n.Properties, &p))
		delete(p.Document, "id")
		delete(p.Document, "revision")
		mark, err := json.Marshal(p.Document)
		require.NoError(t, err)
		names[id] = n.Name
		lines[n.Name+" "+string(mark)]++
	}
	for _, e := range g.edges {
		lines[names[e.SourceID]+" -"+e.RelationType+"-> "+names[e.TargetID]]++
	}
	return lines
}

// testDocumentsByCommandLine imports a directory twice, the second time with changes.
func testDocumentsByCommandLine(t *testing.T, s *server) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("a.md", "# Pumps\n\nPump 7 moves *water*.")
	write("sub/b.html", "<title>Halls</title><p>Hall 3 is dry.")
	write("sub/c.txt", "The machine is loud.")
	for _, name := range []string{"handbook.pdf", "parts.xlsx", "protected.pdf"} {
		write("files/"+name, string(documentfiles.Read(t, name)))
	}
	write("files/bad.docx", "no archive")
	write("sub/bad.txt", "\xff\xfe")
	write("large.txt", strings.Repeat("word ", 230_000))
	write(".hidden/d.md", "hidden")
	write("picture.png", "no text")
	require.NoError(t, os.Symlink(filepath.Join(dir, "a.md"), filepath.Join(dir, "link.md")))

	output := s.CLI("documents", "import", dir, "--tag", "handbook")
	require.Contains(t, output, "skipped sub/bad.txt: is not text in UTF-8")
	require.Contains(t, output, "skipped large.txt: text ")
	require.Contains(t, output, "skipped files/protected.pdf: data is protected by a password")
	require.Contains(t, output, "skipped files/bad.docx: data is not of the type")
	require.Contains(t, output, "5 documents: 5 created, 0 updated, 0 unchanged, 4 skipped")
	var list []struct {
		ExternalID, Title string
		Tags              []string
	}
	s.Do(http.MethodGet, "/api/documents", nil, http.StatusOK, &list)
	titles := map[string]string{}
	for _, d := range list {
		titles[d.ExternalID] = d.Title
		require.Equal(t, []string{"handbook"}, d.Tags)
	}
	require.Equal(t, map[string]string{
		"a.md": "Pumps", "sub/b.html": "Halls", "sub/c.txt": "c", "files/handbook.pdf": "Pump handbook",
		"files/parts.xlsx": "Parts list",
	}, titles)

	write("sub/c.txt", "The machine is quiet.")
	var again struct{ Documents, Created, Updated, Unchanged, Skipped int }
	require.NoError(t, json.Unmarshal(
		[]byte(s.CLI("documents", "import", dir, "--tag", "handbook", "--json")), &again,
	))
	require.Equal(t, 5, again.Documents)
	require.Equal(t, 1, again.Updated)
	require.Equal(t, 4, again.Unchanged)
	require.Equal(t, 4, again.Skipped)
}

// testExampleOfDocuments runs the commands of docs/documents.md with the variables of the README.
func testExampleOfDocuments(t *testing.T, s *server) {
	first, _, found := strings.Cut(shellBlock(t, "First steps"), "\n\n") // the variables
	require.True(t, found)
	answers := paste(t, s, first+"\n"+strings.Replace(
		shellBlockOf(t, "docs/documents.md", "Try it"), "sleep 3", "sleep 10", 1,
	))
	require.Len(t, answers, 5)
	file := filepath.Join(t.TempDir(), "manual.pdf")
	require.NoError(t, os.WriteFile(file, documentfiles.Read(t, "long.pdf"), 0o600))
	answers = append(answers, paste(t, s, first+"\n"+strings.ReplaceAll(
		shellBlockOf(t, "docs/documents.md", "Files"), "manual.pdf", file,
	))...)
	require.Len(t, answers, 6)
	text := func(n int) string {
		payload, err := json.Marshal(answers[n]["data"])
		require.NoError(t, err)
		return string(payload)
	}
	require.Equal(t, 2, strings.Count(text(0), `"created"`))
	require.Contains(t, text(1), `"title":"Pumps"`)
	require.Contains(t, text(2), `"externalId":"note-12"`)
	require.Contains(t, text(3), `"deleted"`)
	require.Contains(t, text(4), `"UNDO"`)
	require.Contains(t, text(5), `"created"`)
	s.Do(http.MethodGet, "/api/documents/note-12", nil, http.StatusOK, nil)
}
