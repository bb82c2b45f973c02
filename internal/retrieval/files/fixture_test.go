package files_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// archive returns an Office file with the given parts.
func archive(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range parts {
		part, err := w.Create(name)
		require.NoError(t, err)
		_, err = part.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// docx returns a text of Word with a body.
func docx(t testing.TB, body string) []byte {
	t.Helper()
	return archive(t, map[string]string{"word/document.xml": "<d>" + body + "</d>"})
}

// everyFormat returns an archive that is a file of each format, with the same content in each part.
func everyFormat(t testing.TB, content string) []byte {
	t.Helper()
	part := `<d xmlns:r="r">` + content + "</d>"
	relations := `<Relationships><Relationship Id="a" Target="part.xml"/></Relationships>`
	return archive(t, map[string]string{
		"word/document.xml": part, "word/styles.xml": part, "docProps/core.xml": part, "meta.xml": part, "content.xml": part,
		"ppt/presentation.xml":            `<p xmlns:r="r"><sldId r:id="a"/></p>`,
		"ppt/_rels/presentation.xml.rels": relations, "ppt/part.xml": part,
		"xl/workbook.xml":            `<w xmlns:r="r"><sheet name="s" r:id="a"/></w>`,
		"xl/_rels/workbook.xml.rels": relations, "xl/part.xml": part, "xl/styles.xml": part, "xl/sharedStrings.xml": part,
	})
}

// pdf returns a PDF file of objects, of which the first is the catalogue.
func pdf(objects []string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// circularPDF returns a PDF file with a page and an outline whose entries are each other's sibling and
// child.
func circularPDF() []byte {
	return pdf([]string{
		"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>", "<< /Type /Outlines /First 5 0 R /Last 6 0 R /Count 2 >>",
		"<< /Title (a) /Parent 4 0 R /Next 6 0 R /First 6 0 R /Last 6 0 R /Dest [3 0 R /Fit] >>",
		"<< /Title (b) /Parent 4 0 R /Next 5 0 R /First 5 0 R /Last 5 0 R /Dest [3 0 R /Fit] >>",
	})
}

// pagesOf returns a PDF file with n pages of text.
func pagesOf(n int) []byte {
	content := "BT /F1 9 Tf 10 800 Td 10 TL " + strings.Repeat("(Pump 7 moves water to Hall 3.) Tj T* ", 60) + "ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		stream("", content),
	}
	var kids strings.Builder
	for range n {
		fmt.Fprintf(&kids, "%d 0 R ", len(objects)+1)
		objects = append(objects, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 850] /Contents 4 0 R "+
			"/Resources << /Font << /F1 3 0 R >> >> >>")
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), n)
	return pdf(objects)
}

// stream returns a stream with entries of its dictionary.
func stream(entries, content string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(content), content)
}

// longPage returns a small PDF file with a page that takes many seconds: its content, unpacked, is 80 MB of
// operators.
func longPage(t testing.TB) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, err := w.Write(bytes.Repeat([]byte("0 0 0 rg\n"), 9_000_000))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return pdf([]string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 850] /Contents 4 0 R >>",
		stream("/Filter /FlateDecode", packed.String()),
	})
}
