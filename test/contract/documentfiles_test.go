package contract_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/files"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/documentfiles"
)

// testFile returns a file in base64.
func testFile(t testing.TB, name string) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString(documentfiles.Read(t, name))
}

// wordFile returns a document with a file of Word that contains a word.
func wordFile(t testing.TB, word string) documentInput {
	t.Helper()
	data := base64.StdEncoding.EncodeToString(documentfiles.Word(t, word))
	return documentInput{"externalId": "word.docx", "data": data, "contentType": files.DOCX}
}

func TestFilesBecomeDocuments(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	inputs := []documentInput{
		{"externalId": "handbook.pdf", "data": testFile(t, "handbook.pdf"), "contentType": files.PDF},
		{"externalId": "handbook.docx", "data": testFile(t, "handbook.docx"), "contentType": files.DOCX, "title": "Mine"},
		{"externalId": "parts.xlsx", "data": testFile(t, "parts.xlsx"), "contentType": files.XLSX + "; version=1"},
		{"externalId": "a note", "text": "Pump 7 is loud."},
	}
	created := w.put(t, inputs...)
	require.Len(t, created, 4)
	for _, c := range created {
		require.Equal(t, "created", c.Status, c.ExternalID)
	}
	book := w.document(t, "handbook.pdf")
	require.Equal(t, "Pump handbook", book.Title)
	require.Equal(t, files.PDF, book.ContentType)
	require.Equal(t, "Mine", w.document(t, "handbook.docx").Title)
	require.Equal(t, files.XLSX, w.document(t, "parts.xlsx").ContentType)

	for _, again := range w.put(t, inputs...) {
		require.Equal(t, "unchanged", again.Status, again.ExternalID)
	}
	require.Equal(t, "created", w.put(t, wordFile(t, "valve"))[0].Status)
	require.Equal(t, "updated", w.put(t, wordFile(t, "seals"))[0].Status, "another file of the same size")
	inputs[0]["data"] = testFile(t, "long.pdf")
	require.Equal(t, "updated", w.put(t, inputs[0])[0].Status)
	book = w.document(t, "handbook.pdf")
	require.Greater(t, len(book.Passages), 2)
	last := 0
	for _, p := range book.Passages {
		require.NotNil(t, p.Page)
		require.GreaterOrEqual(t, *p.Page, last)
		require.Contains(t, p.Text, "Pump")
		last = *p.Page
	}
	require.GreaterOrEqual(t, last, 3)
	inputs[0] = documentInput{"externalId": "handbook.pdf", "text": sentences(0, 30)}
	require.Equal(t, "updated", w.put(t, inputs[0])[0].Status)
	require.Nil(t, w.document(t, "handbook.pdf").Passages[0].Page)
}

func TestBadFilesAreRefusedAndWriteNothing(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	one := func(members string) string {
		return `{"documents":[{"externalId":"good","text":"x"},{"externalId":"a",` + members + `}]}`
	}
	pdf := testFile(t, "handbook.pdf")
	typed := func(data, media string) string { return `"data":"` + data + `","contentType":"` + media + `"` }
	for name, c := range map[string]struct {
		members string
		status  int
		member  string
		reason  string
	}{
		"no base64":      {typed("a file", files.PDF), 422, "data", "base64"},
		"null":           {`"data":null,"contentType":"application/pdf"`, 400, "data", "not null"},
		"empty":          {typed("", files.PDF), 422, "data", "1 to 16777216 bytes"},
		"text, too":      {`"text":"x",` + typed(pdf, files.PDF), 422, "data", "with text"},
		"no type":        {`"data":"` + pdf + `"`, 400, "contentType", "required"},
		"a type of text": {typed(pdf, "text/plain"), 422, "contentType", "type of file"},
		"another type":   {typed(pdf, files.DOCX), 422, "data", "not of the type"},
		"a password":     {typed(testFile(t, "protected.pdf"), files.PDF), 422, "data", "password"},
		"a picture":      {typed(testFile(t, "picture.pdf"), files.PDF), 422, "data", "OCR"},
		"damaged":        {typed(pdf[:4000], files.PDF), 422, "data", "damaged"},
		"too large":      {typed(strings.Repeat("AAAA", (16<<20)/3+1), files.PDF), 422, "data", "bytes"},
	} {
		a := w.Do(t, contract.Request{Method: http.MethodPost, Path: documentsPath, Body: one(c.members)})
		require.Equal(t, c.status, a.Status, "%s: %.300s", name, a.Body)
		require.Equal(t, "documents[1]."+c.member, a.Error.Details["field"], "%s: %.300s", name, a.Body)
		require.Contains(t, a.Error.Details["reason"], c.reason, "%s: %.300s", name, a.Body)
		require.NotContains(t, string(a.Body), "PDFium", name)
		if name == "a type of text" {
			require.Len(t, a.Error.Details["allowed"], len(files.Types()))
		}
	}
	var list []documentItem
	w.Get(t, documentsPath, &list)
	require.Empty(t, list)
}
