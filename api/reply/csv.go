package reply

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// AppendCSVText appends a text as RFC 4180 has it: in quotes where it has a comma, a
// quote or a line end, which stay what they are. One that a spreadsheet would
// take for a formula gets a ' before it, and so does one that begins with ', so
// that who takes one ' away has the text.
func AppendCSVText(dst []byte, text string) []byte {
	guard := text != "" && strings.IndexByte("=+-@'\t\r\n", text[0]) >= 0
	if !guard && text != "" && !strings.ContainsAny(text, ",\"\r\n \t") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	if guard {
		dst = append(dst, '\'')
	}
	return append(append(dst, strings.ReplaceAll(text, `"`, `""`)...), '"')
}

// Negotiate returns the one of some forms (by name, with their content types) that the
// Accept header asks for most, and fallback where it asks for none of them or for
// anything.
func Negotiate(h http.Header, fallback string, contentTypes map[string]string) string {
	best, quality := fallback, 0.0
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, given := params["q"]; given {
			q, _ = strconv.ParseFloat(text, 64) // unreadable: 0, not wanted
		}
		for form, contentType := range contentTypes {
			if name == contentType && q > quality {
				best, quality = form, q
			}
		}
	}
	return best
}
