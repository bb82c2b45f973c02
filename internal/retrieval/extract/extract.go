// Package extract turns the content of documents into plain text with headings.
//
// Content comes from outside, so the work is linear in its size and does not recurse: HTML is read as
// a sequence of tokens and Markdown as a sequence of lines, never as a tree. Any content is
// accepted; what is malformed in it becomes text or is ignored.
package extract

import (
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/truncate"
)

// The supported media types.
const (
	Plain    = "text/plain"
	Markdown = "text/markdown"
	HTML     = "text/html"
)

// Types returns the supported media types.
func Types() []string { return []string{Plain, Markdown, HTML} }

// Text is the text of a document.
type Text struct {
	Title    string // empty: the content has none
	Body     string // valid UTF-8 without control characters other than line feed and tab
	Headings []Heading
	Pages    []int // offset in Body of each page, in bytes; nil: the content has no pages
}

// MaxText is the maximum size of the text of a document in bytes.
const MaxText = 1 << 20

// Heading is the heading of a section.
type Heading struct {
	At   int // offset in Body, in bytes
	Text string
}

// maxTitle and maxHeading are limits of characters. They prevent that a document consists of a title.
const (
	maxTitle   = 512
	maxHeading = 200
)

// MediaType returns the supported media type of a content type such as "text/html; charset=utf-8".
// The error is Invalid and lists the supported types. Content is always UTF-8.
func MediaType(contentType string) (string, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	unsupported := func(reason string) error {
		return fault.Field(fault.Invalid, "contentType", reason, Types()...)
	}
	if err != nil {
		return "", unsupported("is not a media type")
	}
	if charset := strings.ToLower(parameters["charset"]); charset != "" && charset != "utf-8" && charset != "us-ascii" {
		return "", unsupported("must have charset utf-8 or none: text in JSON is UTF-8")
	}
	for _, t := range Types() {
		if media == t {
			return t, nil
		}
	}
	return "", unsupported("is not supported")
}

// Extract returns the text of content of a supported media type.
func Extract(mediaType, content string) Text {
	content = Clean(content)
	var t Text
	switch mediaType {
	case HTML:
		t = fromHTML(content)
	case Markdown:
		t = fromMarkdown(content)
	default:
		t = Text{Body: strings.TrimSpace(content)}
	}
	t.Title = oneLine(t.Title, maxTitle)
	return t
}

// Clean replaces invalid UTF-8, unifies line ends, and removes control characters.
func Clean(content string) string {
	content = strings.ToValidUTF8(content, string(utf8.RuneError))
	content = strings.ReplaceAll(content, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r', r == '\u2028', r == '\u2029', r == '\f', r == '\v':
			return '\n'
		case unicode.IsControl(r), r == '\ufeff':
			return -1
		}
		return r
	}, content)
}

// TitleText returns a text as it is used as a title.
func TitleText(text string) string { return oneLine(text, maxTitle) }

// HeadingText returns a text as it is used as a heading.
func HeadingText(text string) string { return oneLine(text, maxHeading) }

// oneLine returns a text with each sequence of white space as a space, at most limit characters.
func oneLine(text string, limit int) string {
	if len(text) > limit*2*utf8.UTFMax { // more cannot be needed
		text = strings.ToValidUTF8(text[:limit*2*utf8.UTFMax], "")
	}
	return strings.TrimSpace(truncate.Runes(strings.Join(strings.Fields(text), " "), limit))
}
