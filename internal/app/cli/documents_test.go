package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// importedDocuments is the output of `documents import --json`.
type importedDocuments struct {
	Documents, Created, Updated, Unchanged, Skipped int
	Messages                                        []struct{ File, Reason string }
}

// testDocumentsByCommandLine imports a directory twice, the second time with a change.
func testDocumentsByCommandLine(w *workspace) {
	t, dir := w.t, w.t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("a.md", "# Pumps\n\nPump 7 moves *water*.")
	write("sub/b.html", "<title>Halls</title><p>Hall 3 is dry.")
	write("sub/c.txt", "The machine is loud.")
	for _, name := range []string{"handbook.pdf", "protected.pdf"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "retrieval", "files", "testdata", name))
		require.NoError(t, err)
		write("files/"+name, string(content))
	}
	write("files/bad.docx", "no archive")
	write("sub/bad.txt", "\xff\xfe")
	write("large.txt", strings.Repeat("word ", 230_000))
	write("huge.txt", strings.Repeat("x", maxHugeText))
	write(".hidden/d.md", "hidden")
	write(".hidden.md", "hidden")
	write("picture.png", "no text")
	require.NoError(t, os.Symlink(filepath.Join(dir, "a.md"), filepath.Join(dir, "link.md")))

	require.Contains(t, w.ok(w.in("documents", "list")...), "\n0 documents\n")
	output := w.ok(w.in("documents", "import", dir, "--tag", "handbook", "--prefix", "wiki/")...)
	for _, line := range []string{
		"skipped sub/bad.txt: is not text in UTF-8", "skipped huge.txt: is larger than 4194304 bytes",
		"skipped wiki/large.txt: text ", "skipped wiki/files/protected.pdf: data is protected by a password",
		"skipped wiki/files/bad.docx: data is not of the type",
		"4 documents: 4 created, 0 updated, 0 unchanged, 5 skipped\n",
	} {
		require.Contains(t, output, line)
	}
	var list []struct {
		ExternalID, Title string
		Tags              []string
	}
	w.do(http.MethodGet, "/api/documents", nil, http.StatusOK, &list)
	titles := map[string]string{}
	for _, d := range list {
		titles[d.ExternalID] = d.Title
		require.Equal(t, []string{"handbook"}, d.Tags)
	}
	require.Equal(t, map[string]string{
		"wiki/a.md": "Pumps", "wiki/sub/b.html": "Halls", "wiki/sub/c.txt": "c", "wiki/files/handbook.pdf": "Pump handbook",
	}, titles)

	printed := w.ok(w.in("documents", "list")...)
	require.Regexp(t, `(?m)^wiki/sub/c\.txt +c +text/plain +1 +0 +2\S+Z +handbook +[-0-9a-f]{36}$`, printed)
	require.Contains(t, printed, "\n4 documents\n")
	ids := regexp.MustCompile(`(?m)[-0-9a-f]{36}$`).FindAllString(printed, -1)
	require.Len(t, ids, 4)
	for i, id := range ids { // a page is of one document
		page := w.ok(w.in("documents", "list", "--limit", "1", "--offset", strconv.Itoa(i))...)
		require.Regexp(t, "(?m) "+id+"\n1 of 4 documents\n", page)
	}
	printed = w.ok(w.in("documents", "list", "--external-id", "wiki/a.md")...)
	require.Regexp(t, "(?m)^wiki/a\\.md +Pumps .*\n1 document\n", printed)
	require.Contains(t, w.ok(w.in("documents", "list", "--external-id", "a.md")...), "\n0 documents\n")
	require.Contains(t, w.bad(w.in("documents", "list", "--limit", "0")...), "--limit")

	write("sub/c.txt", "The machine is quiet.")
	again := decode[importedDocuments](t, w.ok(w.in(
		"documents", "import", dir, "--tag", "handbook", "--prefix", "wiki/", "--json",
	)...))
	require.Len(t, again.Messages, 5)
	again.Messages = nil
	require.Equal(t, importedDocuments{Documents: 4, Updated: 1, Unchanged: 3, Skipped: 5}, again)
	newest := w.ok(w.in("documents", "list", "--sort", "newest", "--limit", "1")...)
	require.Regexp(t, `(?m)^wiki/sub/c\.txt .*\n1 of 4 documents\n`, newest, "it has changed last")
	require.Contains(t, w.bad(w.in("documents", "list", "--sort", "size")...), "created")
	require.Contains(t, w.bad(w.in("documents", "import", filepath.Join(dir, "none"))...), "no such file")
	require.Contains(t, w.bad(w.in("documents", "import", dir, "--tag", "ok", "--tag", strings.Repeat("x", 129))...),
		"--tag: tags[1] must have at most 128 characters")
}

// maxHugeText is one more than the largest text that the import sends.
const maxHugeText = 4<<20 + 1
