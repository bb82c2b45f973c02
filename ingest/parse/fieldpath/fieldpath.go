// Package fieldpath writes the paths by which answers name a field of a request, such as
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

// maxShownName bounds how much of a caller's name an answer repeats.
const maxShownName = 100

// Member appends a name to a path. Names that would be misread are quoted.
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
