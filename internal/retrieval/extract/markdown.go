package extract

import (
	"strings"
)

// markdownReader collects the text of lines.
type markdownReader struct {
	text     strings.Builder
	headings []Heading
	title    string
	fence    string // the characters that end the code block that is read; empty: none
	previous int    // offset of the previous line in text; -1: it cannot be a heading
}

// fromMarkdown reads the text without the marks of headings, emphasis, links and quotes. Code keeps
// its text. Front matter is not content, but its title is the title.
func fromMarkdown(content string) Text {
	r := &markdownReader{previous: -1}
	lines := strings.Split(content, "\n")
	for _, line := range lines[r.frontMatter(lines):] {
		r.line(line)
	}
	t := Text{Title: r.title, Body: strings.TrimRight(r.text.String(), " \n\t"), Headings: r.headings}
	if t.Title == "" && len(r.headings) > 0 {
		t.Title = r.headings[0].Text
	}
	return t
}

// frontMatter returns the number of lines of the YAML block at the beginning.
func (r *markdownReader) frontMatter(lines []string) int {
	const limit = 200 // lines
	if len(lines) == 0 || strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	title := ""
	for i := 1; i < min(len(lines), limit); i++ {
		if line := strings.TrimRight(lines[i], " \t"); line == "---" || line == "..." {
			r.title = title
			return i + 1
		}
		if value, ok := strings.CutPrefix(lines[i], "title:"); ok {
			title = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return 0
}

func (r *markdownReader) line(line string) {
	trimmed := strings.TrimSpace(line)
	if r.fence != "" || isFence(trimmed) {
		r.code(line, trimmed)
		return
	}
	if isUnderline(trimmed) && r.previous >= 0 {
		r.addHeading(r.previous, r.text.String()[r.previous:])
		r.previous = -1
		return
	}
	if level := headingLevel(trimmed); level > 0 {
		text := inline(strings.TrimSpace(strings.TrimRight(strings.TrimSpace(trimmed[level:]), "#")))
		r.addHeading(r.text.Len(), text)
		r.write(text)
		r.previous = -1
		return
	}
	if strings.Trim(trimmed, "-*_= ") == "" && len(trimmed) >= 3 || isTableRule(trimmed) { // a rule
		r.previous = -1
		return
	}
	start := r.text.Len()
	r.write(inline(strings.TrimLeft(strings.TrimRight(line, " \t"), ">")))
	r.previous = start
	if trimmed == "" {
		r.previous = -1
	}
}

// code reads a line of a code block, or one that begins or ends it.
func (r *markdownReader) code(line, trimmed string) {
	r.previous = -1
	switch {
	case r.fence == "":
		r.fence = trimmed[:3]
	case strings.HasPrefix(trimmed, r.fence) && strings.Trim(trimmed, r.fence[:1]) == "":
		r.fence = ""
	default:
		r.write(line)
	}
}

// write writes a line. Several empty lines become one, and none is at the beginning.
func (r *markdownReader) write(line string) {
	written := r.text.String()
	if strings.TrimSpace(line) == "" && (written == "" || strings.HasSuffix(written, "\n\n")) {
		return
	}
	r.text.WriteString(line)
	r.text.WriteByte('\n')
}

func (r *markdownReader) addHeading(at int, text string) {
	if text = oneLine(text, maxHeading); text != "" {
		r.headings = append(r.headings, Heading{At: at, Text: text})
	}
}

func isFence(line string) bool {
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// isUnderline reports whether a line makes a heading of the line before it.
func isUnderline(line string) bool {
	return len(line) >= 2 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "")
}

func isTableRule(line string) bool { return len(line) >= 3 && strings.Trim(line, "|-: ") == "" }

// headingLevel returns the level of a heading that begins with #, 0 if the line is none.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || len(line) > level && line[level] != ' ' && line[level] != '\t' {
		return 0
	}
	return level
}

// inline removes the marks of links, images, emphasis, code and tags within a line.
func inline(line string) string {
	if !strings.ContainsAny(line, "[*_`<\\|!") {
		return line
	}
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch c := line[i]; {
		case c == '\\' && len(rest) > 1 && isPunctuation(rest[1]):
			out.WriteByte(rest[1])
			i++
		case c == '!' && strings.HasPrefix(rest, "!["), c == '[', c == '`', c == '|':
		case c == ']':
			i += linkTarget(rest[1:])
		case c == '*' || c == '_' && !isWithinWord(line, i):
		case c == '<':
			n := tagLength(rest)
			if n == 0 {
				out.WriteByte(c)
				continue
			}
			if address := rest[1 : n-1]; strings.Contains(address, "://") || strings.Contains(address, "@") {
				out.WriteString(address)
			}
			i += n - 1
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

const maxTarget = 2048 // bytes of the address of a link, or of a tag

// linkTarget returns the length of the target that follows the text of a link: "(address)" or
// "[name]"; 0 if there is none.
func linkTarget(rest string) int {
	if rest == "" || rest[0] != '(' && rest[0] != '[' {
		return 0
	}
	closing := byte(')')
	if rest[0] == '[' {
		closing = ']'
	}
	if end := strings.IndexByte(rest[:min(len(rest), maxTarget)], closing); end >= 0 {
		return end + 1
	}
	return 0
}

// tagLength returns the length of an HTML tag or an address in angle brackets at the beginning of a
// text; 0 if there is none.
func tagLength(rest string) int {
	if len(rest) < 3 || !isLetter(rest[1]) && rest[1] != '/' && rest[1] != '!' {
		return 0
	}
	return strings.IndexByte(rest[:min(len(rest), maxTarget)], '>') + 1
}

func isWithinWord(line string, i int) bool {
	return i > 0 && i+1 < len(line) && isWordByte(line[i-1]) && isWordByte(line[i+1])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWordByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c >= 0x80 || c == '_' }

func isPunctuation(c byte) bool { return c > ' ' && c < 0x7f && !isWordByte(c) || c == '_' }
