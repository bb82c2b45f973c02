package reply

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// AppendCSVText appends a text as a cell of RFC 4180. A text with a comma, a quote or a
// line end is quoted; line ends are not changed. A text that a spreadsheet would
// interpret as a formula is prefixed with ', and so is a text that begins with ', so that
// a reader can restore the text by removing one '.
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

// Negotiate returns the key in contentTypes whose content type has the highest quality in
// the Accept header. It returns fallback if the header has none of the content types.
func Negotiate(h http.Header, fallback string, contentTypes map[string]string) string {
	best, quality := fallback, 0.0
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, given := params["q"]; given {
			q, _ = strconv.ParseFloat(text, 64) // 0 if invalid: not accepted
		}
		for form, contentType := range contentTypes {
			if name == contentType && q > quality {
				best, quality = form, q
			}
		}
	}
	return best
}
