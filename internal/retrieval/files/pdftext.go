package files

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

const (
	maxOutline = 2000 // bookmarks
	// Lines that are shorter than this part of the longest line of their page, in percent, end a
	// paragraph.
	fullLinePercent = 70
)

// outline reads the titles of a file's outline by the index of the page to which they lead.
type outline struct {
	pdf      pdfium.Pdfium
	document references.FPDF_DOCUMENT
	titles   map[int][]string
	left     int // bookmarks that may still be read: a hostile outline has cycles
}

// outlineOf returns the titles of the outline by page. What is damaged in it is left out.
func outlineOf(p pdfium.Pdfium, document references.FPDF_DOCUMENT) map[int][]string {
	o := &outline{pdf: p, document: document, titles: map[int][]string{}, left: maxOutline}
	for next := o.children(nil); len(next) > 0; { // the last one is next
		b := next[len(next)-1]
		next = next[:len(next)-1]
		o.add(b)
		next = append(next, o.children(&b)...)
	}
	return o.titles
}

// children returns the bookmarks below a parent, nil for the root, the first one last.
func (o *outline) children(parent *references.FPDF_BOOKMARK) (list []references.FPDF_BOOKMARK) {
	first, err := o.pdf.FPDFBookmark_GetFirstChild(
		&requests.FPDFBookmark_GetFirstChild{Document: o.document, Bookmark: parent})
	if err != nil {
		return nil
	}
	for next := first.Bookmark; next != nil && o.left > 0; o.left-- {
		list = append(list, *next)
		sibling, err := o.pdf.FPDFBookmark_GetNextSibling(
			&requests.FPDFBookmark_GetNextSibling{Document: o.document, Bookmark: *next})
		if err != nil {
			break
		}
		next = sibling.Bookmark
	}
	slices.Reverse(list)
	return list
}

// add adds the title of a bookmark that leads to a page.
func (o *outline) add(b references.FPDF_BOOKMARK) {
	title, err := o.pdf.FPDFBookmark_GetTitle(&requests.FPDFBookmark_GetTitle{Bookmark: b})
	if err != nil {
		return
	}
	to, err := o.pdf.FPDFBookmark_GetDest(&requests.FPDFBookmark_GetDest{Document: o.document, Bookmark: b})
	if err != nil || to.Dest == nil {
		return
	}
	page, err := o.pdf.FPDFDest_GetDestPageIndex(
		&requests.FPDFDest_GetDestPageIndex{Document: o.document, Dest: *to.Dest})
	if err == nil {
		o.titles[page.Index] = append(o.titles[page.Index], title.Title)
	}
}

// addPage adds the text of a page. A PDF file has lines, not paragraphs: lines that fill the page are
// joined, and words that were divided at the end of a line are put together. A line that is the next
// title of the outline is a heading.
func addPage(b *builder, text string, titles []string) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	longest := 0
	for _, line := range lines {
		longest = max(longest, utf8.RuneCountInString(line))
	}
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			b.breakLine()
			continue
		}
		if len(titles) > 0 && sameWords(trimmed, titles[0]) {
			titles = titles[1:]
			b.beginHeading()
			b.add(trimmed)
			b.endHeading()
			continue
		}
		if rest, divided := cutHyphen(trimmed); divided {
			b.add(rest)
			continue
		}
		b.add(trimmed)
		if utf8.RuneCountInString(line)*100 < longest*fullLinePercent {
			b.breakLine()
		} else {
			b.separate(' ')
		}
	}
}

// cutHyphen cuts the mark that PDFium sets where a word is divided at the end of a line.
func cutHyphen(line string) (rest string, divided bool) {
	for _, mark := range []string{"\ufffe", "\u0002", "\u00ad"} {
		if rest, divided = strings.CutSuffix(line, mark); divided {
			return rest, true
		}
	}
	return line, false
}

// sameWords reports whether two texts have the same letters and digits in the same order.
func sameWords(a, b string) bool {
	only := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, text)
	}
	words := only(a)
	return words != "" && words == only(b)
}
