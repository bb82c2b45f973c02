// Package documentfiles has PDF and Office files for tests of documents.
package documentfiles

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Read returns a file of the test data of package files. Tests run in a folder below test.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../internal/retrieval/files/testdata", name))
	require.NoError(t, err)
	return data
}

// Word returns a file of Word with a text. It is not compressed, so files of equally long texts have the
// same size.
func Word(t testing.TB, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	part, err := z.CreateHeader(&zip.FileHeader{Name: "word/document.xml", Method: zip.Store})
	require.NoError(t, err)
	_, err = part.Write([]byte("<d><p><t>" + text + "</t></p></d>"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return file.Bytes()
}
