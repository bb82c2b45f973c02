package files_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/retrieval/extract"
	"github.com/livegraph/livegraph/internal/retrieval/files"
)

// newReader returns a reader with the cache of the service, so that PDFium is compiled once.
func newReader(t testing.TB) *files.Reader {
	t.Helper()
	cache, err := install.CacheDir("pdfium")
	require.NoError(t, err)
	r := files.NewReader(files.Options{CacheDir: cache, IdleTimeout: time.Hour})
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func TestFilesAreReadAsTextWithHeadingsAndPages(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for name, want := range map[string]struct {
		media, title, body string
		headings           []string
		pages              []string // beginning of each page
	}{
		"handbook.pdf": {
			files.PDF, "Pump handbook", "Pumps\nPump 7 moves water from the cellar to Hall 3. Its extraordinary\n" +
				"characteristics include acoustic measurements at every second, and\nuncharacteristically loud vibrations.\n" +
				"Überprüfung\nDie Ventile werden im\nFebruar geprüft.\nDonaudampfschifffahrtsgesellschaftskapitän. valve 12",
			[]string{"Pumps", "Überprüfung"}, []string{"Pumps", "Überprüfung"},
		},
		"handbook.docx": {
			files.DOCX, "Pump handbook", "Pumps\nPump 7 moves water to Hall 3.\tIt is loud.\nParts\nvalve 12\nseal 3\nkept",
			[]string{"Pumps", "Parts"}, nil,
		},
		"slides.pptx": {
			files.PPTX, "Pumps", "Pumps\nPump 7 moves water\nto Hall 3\nParts\nvalve: 12", []string{"Pumps", "Parts"},
			[]string{"Pumps", "Parts"},
		},
		"parts.xlsx": {
			files.XLSX, "Parts list", "Stock\npart\tnumber\tprice\tsince\tchecked\nvalve\t12\t0.3\t2026-02-28\tTRUE\n" +
				"seal\t1000000\t2.5\t2026-03-01 07:40:08\tFALSE\nSites\nHall 3",
			[]string{"Stock", "Sites"}, []string{"Stock", "Sites"},
		},
		"handbook.odt": {
			files.ODT, "Pump handbook", "Pumps\nPump 7 moves  water to Hall 3.\tLoud.\nParts\nvalve 12\nseal 3",
			[]string{"Pumps", "Parts"}, nil,
		},
		"slides.odp": {
			files.ODP, "Pumps", "Pumps\nPump 7 moves water\nParts\nvalve: 12", []string{"Pumps", "Parts"},
			[]string{"Pumps", "Parts"},
		},
		"parts.ods": {
			files.ODS, "Stock", "Stock\npart number\nvalve 12", []string{"Stock"}, []string{"Stock"},
		},
	} {
		got, err := r.Read(t.Context(), want.media, testFile(t, name))
		require.NoError(t, err, name)
		require.Equal(t, want.title, got.Title, name)
		require.Equal(t, want.body, got.Body, name)
		var headings, pages []string
		for _, h := range got.Headings {
			require.True(t, strings.HasPrefix(got.Body[h.At:], h.Text), "%s: %q", name, h.Text)
			headings = append(headings, h.Text)
		}
		require.Equal(t, want.headings, headings, name)
		for i, at := range got.Pages {
			pages = append(pages, want.pages[i])
			require.True(t, strings.HasPrefix(got.Body[at:], want.pages[i]), "%s: page %d", name, i+1)
		}
		require.Equal(t, want.pages, pages, name)
	}
}

func TestAFileThatCannotBeReadIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for name, test := range map[string]struct {
		media  string
		data   []byte
		reason string
	}{
		"a PDF with a password":  {files.PDF, testFile(t, "protected.pdf"), "protected by a password"},
		"a PDF of pictures":      {files.PDF, testFile(t, "picture.pdf"), "has no text"},
		"a PDF that is cut":      {files.PDF, testFile(t, "handbook.pdf")[:2000], "is not a PDF file"},
		"text as PDF":            {files.PDF, []byte("hello"), "is not a PDF file"},
		"nothing":                {files.PDF, nil, "is not a PDF file"},
		"text as DOCX":           {files.DOCX, []byte("hello"), "is not of the type"},
		"PPTX as DOCX":           {files.DOCX, testFile(t, "slides.pptx"), "is not of the type"},
		"an archive that is cut": {files.DOCX, testFile(t, "handbook.docx")[:9000], "is not of the type"},
		"an encrypted DOCX": {
			files.DOCX, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600)), "protected by a password",
		},
		"a DOCX without text": {files.DOCX, docx(t, "<p/>"), "has no text"},
	} {
		_, err := r.Read(t.Context(), test.media, test.data)
		var reason files.Unreadable
		require.ErrorAs(t, err, &reason, name)
		require.Contains(t, string(reason), test.reason, name)
	}
	_, err := r.Read(t.Context(), "text/plain", []byte("hello"))
	require.Error(t, err)
}

// TestHostileFilesAreBounded covers files whose text is much larger than they are, or that never end.
func TestHostileFilesAreBounded(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	require.NoError(t, warmUp(t, r))
	for name, test := range map[string]struct {
		media  string
		data   []byte
		reason string
	}{
		"a bomb of text":   {files.DOCX, docx(t, "<p><t>"+strings.Repeat("word ", 12<<20/5)+"</t></p>"), "more text than"},
		"a bomb of spaces": {files.DOCX, docx(t, strings.Repeat(" ", 65<<20)), "larger than 64 MiB"},
		"nested elements":  {files.DOCX, docx(t, strings.Repeat("<p>", 1000)+strings.Repeat("</p>", 1000)), "256 nested"},
		"entities": {files.DOCX, archive(t, map[string]string{"word/document.xml": `<!DOCTYPE d [<!ENTITY a "` +
			strings.Repeat("a", 1000) + `">]><d><p><t>` + strings.Repeat("&a;", 1000) + `</t></p></d>`}), "is not of the type"},
		"spaces by number": {files.ODT, archive(t, map[string]string{
			"content.xml": `<d><p>a` + strings.Repeat(`<s c="999999999"/>`, 20_000) + `</p></d>`,
		}), "more text than"},
		"shared texts": {files.XLSX, archive(t, map[string]string{
			"xl/workbook.xml":      `<workbook/>`,
			"xl/sharedStrings.xml": `<sst>` + strings.Repeat(`<si><t>`+strings.Repeat("a", 1000)+`</t></si>`, 5000) + `</sst>`,
		}), "more text than"},
		"an outline in a circle": {files.PDF, circularPDF(), "has no text"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := r.Read(ctx, test.media, test.data)
		cancel()
		var reason files.Unreadable
		require.ErrorAs(t, err, &reason, name)
		require.Contains(t, string(reason), test.reason, name)
	}
}

func TestReadingEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	require.NoError(t, warmUp(t, r))
	for _, file := range []struct {
		media string
		data  []byte
	}{
		{files.PDF, pagesOf(3000)}, {files.PDF, longPage(t)}, {files.DOCX, docx(t, strings.Repeat("<p/>", 9<<20/4))},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		_, err := r.Read(ctx, file.media, file.data)
		cancel()
		var reason files.Unreadable
		require.ErrorAs(t, err, &reason)
		require.Contains(t, string(reason), "takes too long")
		require.Less(t, time.Since(began), 5*time.Second)
	}
	require.NoError(t, warmUp(t, r), "the next file is read")
}

// TestPDFiumIsUnloadedWhenItIsIdle has a cache that cannot be written, so PDFium is compiled, but only once.
func TestPDFiumIsUnloadedWhenItIsIdle(t *testing.T) {
	t.Parallel()
	r := files.NewReader(files.Options{CacheDir: "/dev/null/pdfium", IdleTimeout: time.Nanosecond, Concurrent: 2})
	var first time.Duration
	for n := range 3 {
		began := time.Now()
		require.NoError(t, warmUp(t, r))
		if n == 0 {
			first = time.Since(began)
		} else {
			require.Less(t, time.Since(began), first)
		}
		require.Eventually(t, func() bool { return !r.Loaded() }, time.Minute, time.Millisecond)
	}
}

func warmUp(t *testing.T, r *files.Reader) error {
	t.Helper()
	_, err := r.Read(t.Context(), files.PDF, testFile(t, "handbook.pdf"))
	return err
}

func FuzzOfficeFiles(f *testing.F) {
	for _, content := range []string{
		"", "<p><t>a</t></p>", `<p><pStyle val="h"/><t>a</t></p>`, "<tbl><tr><tc><p><t>a</t></p></tc></tr></tbl>",
		`<c t="s"><v>0</v></c>`, `<c s="1"><v>46000.5</v></c>`, `<h>a</h><p>b<s c="3"/></p>`, "<del><t>a</t></del>",
		`<page/><frame class="title"><p>a</p></frame>`, "<p>\u0000", "</d>", `<sldId r:id="a" xmlns:r="b"/>`,
	} {
		f.Add(content)
	}
	r := files.NewReader(files.Options{})
	f.Fuzz(func(t *testing.T, content string) {
		for _, media := range files.Types() {
			if media == files.PDF {
				continue
			}
			got, err := r.Read(t.Context(), media, everyFormat(t, content))
			var reason files.Unreadable
			if err != nil {
				require.ErrorAs(t, err, &reason)
				continue
			}
			checkText(t, got)
		}
	})
}

// checkText requires what a text must fulfil.
func checkText(t *testing.T, got extract.Text) {
	t.Helper()
	require.LessOrEqual(t, len(got.Body), extract.MaxText)
	require.True(t, strings.ToValidUTF8(got.Body, "") == got.Body)
	last := 0
	for _, h := range got.Headings {
		require.GreaterOrEqual(t, h.At, last)
		require.LessOrEqual(t, h.At, len(got.Body))
		require.NotEmpty(t, h.Text)
		last = h.At
	}
	for _, r := range got.Body {
		require.False(t, r < ' ' && r != '\n' && r != '\t', "%q", r)
	}
}
