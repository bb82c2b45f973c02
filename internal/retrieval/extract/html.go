package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxToken is the maximum size of an HTML token in bytes. The rest of a document with a larger one is
// ignored. Text is delivered in smaller tokens than that only if it has tags.
const maxToken = 4 << 20

// htmlReader collects the text of tokens.
type htmlReader struct {
	text         strings.Builder
	headings     []Heading
	title        strings.Builder
	inTitle      bool
	skipped      atom.Atom // the element whose content is skipped; 0: none
	depth        int       // nested elements of that name
	pre          bool
	heading      int // offset of the heading that is read; -1: none
	firstHeading string
	spaced       bool // the text ends with white space, or is empty
}

// fromHTML reads the visible text. Elements that are no content, such as scripts, are skipped.
func fromHTML(content string) Text {
	tokens := html.NewTokenizer(strings.NewReader(content))
	tokens.SetMaxBuf(maxToken)
	r := &htmlReader{heading: -1, spaced: true}
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return r.result()
		case html.TextToken:
			r.addText(string(tokens.Text()))
		case html.StartTagToken:
			name, _ := tokens.TagName()
			r.start(atom.Lookup(name))
		case html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			if a := atom.Lookup(name); isBlock(a) && r.skipped == 0 {
				r.breakLine()
			}
		case html.EndTagToken:
			name, _ := tokens.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

func (r *htmlReader) start(a atom.Atom) {
	switch {
	case r.skipped != 0:
		if a == r.skipped {
			r.depth++
		}
	case isSkipped(a):
		r.skipped, r.depth = a, 1
	case a == atom.Title:
		r.inTitle = r.title.Len() == 0
	case isHeading(a):
		r.breakLine()
		r.heading = r.text.Len()
	case isBlock(a):
		r.breakLine()
		r.pre = r.pre || a == atom.Pre
	case a == atom.Td || a == atom.Th:
		r.addSpace()
	}
}

func (r *htmlReader) end(a atom.Atom) {
	switch {
	case r.skipped != 0:
		if a == r.skipped {
			if r.depth--; r.depth == 0 {
				r.skipped = 0
			}
		}
	case a == atom.Title:
		r.inTitle = false
	case isHeading(a):
		r.endHeading()
		r.breakLine()
	case isBlock(a):
		r.breakLine()
		r.pre = r.pre && a != atom.Pre
	}
}

func (r *htmlReader) endHeading() {
	if r.heading < 0 {
		return
	}
	if text := oneLine(r.text.String()[r.heading:], maxHeading); text != "" {
		r.headings = append(r.headings, Heading{At: r.heading, Text: text})
		if r.firstHeading == "" {
			r.firstHeading = text
		}
	}
	r.heading = -1
}

func (r *htmlReader) addText(text string) {
	text = Clean(text) // character references may have become control characters
	switch {
	case r.skipped != 0:
		return
	case r.inTitle:
		r.title.WriteString(text)
		return
	case r.pre:
		r.text.WriteString(text)
		r.spaced = strings.HasSuffix(text, "\n")
		return
	}
	for _, c := range text {
		if unicode.IsSpace(c) {
			r.addSpace()
			continue
		}
		r.text.WriteRune(c)
		r.spaced = false
	}
}

func (r *htmlReader) addSpace() {
	if !r.spaced {
		r.text.WriteByte(' ')
		r.spaced = true
	}
}

// breakLine ends a line, unless the text is empty or at the beginning of one.
func (r *htmlReader) breakLine() {
	if r.text.Len() > 0 && !strings.HasSuffix(r.text.String(), "\n") {
		r.text.WriteByte('\n')
	}
	r.spaced = true
}

func (r *htmlReader) result() Text {
	r.endHeading()
	t := Text{Title: r.title.String(), Body: strings.TrimRight(r.text.String(), " \n\t"), Headings: r.headings}
	if strings.TrimSpace(t.Title) == "" {
		t.Title = r.firstHeading
	}
	return t
}

func isSkipped(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Nav,
		atom.Button, atom.Select, atom.Textarea, atom.Canvas, atom.Audio, atom.Video:
		return true
	}
	return false
}

func isHeading(a atom.Atom) bool {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Br, atom.Hr, atom.Li, atom.Ul, atom.Ol, atom.Dl, atom.Dt, atom.Dd, atom.Table, atom.Tr,
		atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Aside, atom.Blockquote, atom.Pre, atom.Figure,
		atom.Figcaption, atom.Address, atom.Form, atom.Fieldset, atom.Body, atom.Head, atom.Summary, atom.Details:
		return true
	}
	return false
}
