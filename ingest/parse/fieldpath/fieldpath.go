// Package fieldpath builds the paths of request fields in error responses, such as
// points[3].tags.host.
package fieldpath

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Index appends an index to a path.
func Index(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// maxShownName is the maximum number of characters of a client's name in a response.
const maxShownName = 100

// Member appends a name to a path. It quotes names that would be ambiguous.
func Member(path, name string) string {
	name = shorten(name)
	if name == "" || strings.ContainsAny(name, `.[]"\`) || strings.ContainsFunc(name, unicode.IsControl) {
		quoted, err := jsontext.AppendQuote(nil, name)
		if err != nil {
			return path
		}
		return path + "[" + string(quoted) + "]"
	}
	if path == "" {
		return strings.Clone(name)
	}
	return path + "." + name
}

func shorten(name string) string {
	if len(name) <= maxShownName {
		return name
	}
	if runes := []rune(name); len(runes) > maxShownName {
		return string(runes[:maxShownName]) + "…"
	}
	return name
}
