package files

import (
	"strings"

	"github.com/livegraph/livegraph/internal/retrieval/extract"
)

// builder collects the text of a file. When the text is too long, full is set, and the rest is
// dropped.
type builder struct {
	text     []byte
	title    string
	headings []extract.Heading
	pages    []int
	heading  int // offset of the heading that is being added; -1: none
	full     bool
}

func newBuilder() *builder { return &builder{heading: -1} }

// err returns tooMuchText if text was dropped.
func (b *builder) err() error {
	if b.full {
		return tooMuchText
	}
	return nil
}

// noncharacters removes what is no character, which PDFium uses as a mark.
var noncharacters = strings.NewReplacer("\ufffe", "", "\uffff", "")

// add appends text without control characters other than line feed and tab.
func (b *builder) add(text string) {
	if b.full || len(text) > extract.MaxText-len(b.text) {
		b.full = true
		return
	}
	b.text = append(b.text, noncharacters.Replace(extract.Clean(text))...)
}

// separate appends a character between two parts of a line, unless the text ends with white space.
func (b *builder) separate(with byte) {
	if n := len(b.text); n > 0 && !b.full && !isSpace(b.text[n-1]) {
		b.text = append(b.text, with)
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// breakLine ends the line without the white space at its end, unless the line is empty. The text of a
// heading that is being added is not shortened beyond its beginning.
func (b *builder) breakLine() {
	n := len(b.text)
	for n > max(b.heading, 0) && (b.text[n-1] == ' ' || b.text[n-1] == '\t') {
		n--
	}
	if b.text = b.text[:n]; n > 0 && b.text[n-1] != '\n' && !b.full {
		b.text = append(b.text, '\n')
	}
}

// beginPage begins a page. Pages without text count.
func (b *builder) beginPage() {
	b.breakLine()
	b.pages = append(b.pages, len(b.text))
}

// beginHeading begins a heading on its own line.
func (b *builder) beginHeading() {
	b.breakLine()
	b.heading = len(b.text)
}

// endHeading ends the heading, which is dropped if it has no text.
func (b *builder) endHeading() {
	if b.heading < 0 {
		return
	}
	b.addHeading(b.heading, string(b.text[b.heading:]))
	b.heading = -1
	b.breakLine()
}

func (b *builder) addHeading(at int, text string) {
	if text = extract.HeadingText(text); text != "" {
		b.headings = append(b.headings, extract.Heading{At: at, Text: text})
	}
}

// result returns the collected text.
func (b *builder) result() extract.Text {
	b.endHeading()
	t := extract.Text{
		Title: extract.TitleText(b.title), Body: strings.TrimRight(string(b.text), " \n\t"),
		Headings: b.headings, Pages: b.pages,
	}
	if t.Title == "" && len(t.Headings) > 0 {
		t.Title = t.Headings[0].Text
	}
	return t
}
