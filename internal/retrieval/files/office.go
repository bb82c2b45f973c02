package files

import (
	"context"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

// readOffice adds the text of an Office file to b.
func readOffice(ctx context.Context, mediaType string, data []byte, b *builder) error {
	a, err := openArchive(ctx, data)
	if err != nil {
		return err
	}
	main, read := officeMain(mediaType)
	if !a.has(main) {
		return notOffice
	}
	metadata := "docProps/core.xml"
	if main == odfContent {
		metadata = "meta.xml"
	}
	if b.title, err = a.title(metadata); err != nil {
		return err
	}
	if err := read(a, b); err != nil {
		return err
	}
	return b.err()
}

// officeMain returns the name of the main part of a format, and the function that reads it.
func officeMain(mediaType string) (main string, read func(*archive, *builder) error) {
	switch mediaType {
	case DOCX:
		return docxMain, readDOCX
	case PPTX:
		return pptxMain, readPPTX
	case XLSX:
		return xlsxMain, readXLSX
	}
	return odfContent, readODF
}

const (
	docxMain = "word/document.xml"
	pptxMain = "ppt/presentation.xml"
)

// readDOCX reads a text of Word: paragraphs, and tables by rows. Deleted text, field codes and what is
// stored a second time for older programs are left out.
func readDOCX(a *archive, b *builder) error {
	headings, err := docxHeadings(a)
	if err != nil {
		return err
	}
	w := &wordReader{builder: b, headings: headings}
	for _, part := range []string{docxMain, "word/footnotes.xml", "word/endnotes.xml"} {
		if err := a.walk(part, visitor{start: w.start, end: w.end, text: w.chars}); err != nil {
			return err
		}
		b.breakLine()
	}
	return nil
}

// docxHeadings returns the ids of the styles of headings. Ids depend on the language of Word, names do
// not.
func docxHeadings(a *archive) (ids map[string]bool, err error) {
	ids = map[string]bool{}
	style := ""
	err = a.walk("word/styles.xml", visitor{start: func(e element) bool {
		switch e.Name.Local {
		case "style":
			style = e.attr("styleId")
		case "name":
			if name := strings.ToLower(e.attr("val")); strings.HasPrefix(name, "heading ") || name == "title" {
				ids[style] = true
			}
		}
		return true
	}})
	return ids, err
}

// wordReader reads the elements of WordprocessingML.
type wordReader struct {
	*builder
	headings map[string]bool // ids of styles
	cells    int             // nested cells of tables
	inText   bool
}

func (w *wordReader) start(e element) bool {
	switch e.Name.Local {
	case "del", "moveFrom", "Fallback", "sectPr":
		return false
	case "tc":
		w.cells++
	case "pStyle":
		if w.headings[e.attr("val")] && w.cells == 0 {
			w.beginHeading()
		}
	case "outlineLvl":
		if level, err := strconv.Atoi(e.attr("val")); err == nil && level < 9 && w.cells == 0 {
			w.beginHeading()
		}
	case "t":
		w.inText = true
	case "tab":
		w.separate('\t')
	case "br", "cr":
		w.breakLine()
	case "noBreakHyphen":
		w.add("-")
	}
	return true
}

func (w *wordReader) end(name string) {
	switch name {
	case "t":
		w.inText = false
	case "p":
		w.endHeading()
		if w.cells == 0 {
			w.breakLine()
		} else {
			w.separate(' ')
		}
	case "tc":
		w.cells--
		w.separate('\t')
	case "tr":
		w.breakLine()
	}
}

func (w *wordReader) chars(text string) {
	if w.inText {
		w.add(text)
	}
}

// readPPTX reads the slides of a presentation in their order, each as a page. The title of a slide is a
// heading.
func readPPTX(a *archive, b *builder) error {
	targets, err := a.related(pptxMain)
	if err != nil {
		return err
	}
	var slides []string
	err = a.walk(pptxMain, visitor{start: func(e element) bool {
		if e.Name.Local == "sldId" {
			slides = append(slides, targets[relationID(e)])
		}
		return true
	}})
	for _, slide := range slides {
		if err != nil {
			return err
		}
		b.beginPage()
		s := &slideReader{builder: b}
		err = a.walk(slide, visitor{start: s.start, end: s.end, text: s.chars})
	}
	return err
}

// relationID returns the id of a reference to another part. The element also has an id without a
// namespace.
func relationID(e element) string {
	i := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == "id" && a.Name.Space != "" })
	if i < 0 {
		return ""
	}
	return e.Attr[i].Value
}

// slideReader reads the elements of a slide.
type slideReader struct {
	*builder
	inText bool
}

func (s *slideReader) start(e element) bool {
	switch e.Name.Local {
	case "Fallback":
		return false
	case "ph":
		if kind := e.attr("type"); kind == "title" || kind == "ctrTitle" {
			s.beginHeading()
		}
	case "t":
		s.inText = true
	case "br":
		s.separate(' ')
	}
	return true
}

func (s *slideReader) end(name string) {
	switch name {
	case "t":
		s.inText = false
	case "p":
		if s.heading < 0 {
			s.breakLine()
		} else {
			s.separate(' ')
		}
	case "sp":
		s.endHeading()
	case "tr":
		s.breakLine()
	}
}

func (s *slideReader) chars(text string) {
	if s.inText {
		s.add(text)
	}
}
