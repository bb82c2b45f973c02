package files

import (
	"strconv"
	"strings"
	"unicode"
)

const odfContent = "content.xml"

// maxSpaces is the maximum number of spaces of one element.
const maxSpaces = 100

// readODF reads a text, a presentation or a spreadsheet of OpenDocument.
func readODF(a *archive, b *builder) error {
	o := &odfReader{builder: b}
	return a.walk(odfContent, visitor{start: o.start, end: o.end, text: o.chars})
}

// odfReader reads the elements of OpenDocument. White space in text is one space.
type odfReader struct {
	*builder
	paragraphs int  // nested paragraphs and headings
	cells      int  // nested cells of tables
	inTitle    bool // in the frame of the title of a slide
	sheets     bool // the document is a spreadsheet
}

func (o *odfReader) start(e element) bool {
	switch e.Name.Local {
	case "tracked-changes", "annotation", "annotation-end", "notes", "forms":
		return false
	case "spreadsheet":
		o.sheets = true
	case "table":
		if o.sheets && o.cells == 0 {
			o.beginPage()
			o.beginHeading()
			o.add(e.attr("name"))
			o.endHeading()
		}
	case "page":
		o.beginPage()
	case "frame":
		o.inTitle = e.attr("class") == "title"
	case "h":
		o.paragraphs++
		if o.cells == 0 {
			o.beginHeading()
		}
	case "p":
		if o.paragraphs++; o.inTitle && o.heading < 0 {
			o.beginHeading()
		}
	case "table-cell", "covered-table-cell":
		o.cells++
	case "s":
		count, err := strconv.Atoi(e.attr("c"))
		if err != nil {
			count = 1
		}
		o.add(strings.Repeat(" ", min(max(count, 0), maxSpaces)))
	case "tab":
		o.separate('\t')
	case "line-break":
		o.separate(' ')
	}
	return true
}

func (o *odfReader) end(name string) {
	switch name {
	case "h":
		o.paragraphs--
		o.endHeading()
	case "p":
		o.paragraphs--
		if o.cells == 0 && o.heading < 0 {
			o.breakLine()
		} else {
			o.separate(' ')
		}
	case "frame":
		if o.inTitle {
			o.endHeading()
		}
		o.inTitle = false
	case "table-cell", "covered-table-cell":
		o.cells--
		o.separate('\t')
	case "table-row":
		o.breakLine()
	}
}

// chars adds the text of paragraphs. Other text is formatting of the file.
func (o *odfReader) chars(text string) {
	if o.paragraphs == 0 {
		return
	}
	space := false
	var line strings.Builder
	for _, r := range text {
		if unicode.IsSpace(r) && r != '\u00a0' {
			space = true
			continue
		}
		if space {
			line.WriteByte(' ')
			space = false
		}
		line.WriteRune(r)
	}
	if space {
		line.WriteByte(' ')
	}
	o.add(line.String())
}
