package ingest

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// indexPath appends an index to a path.
func indexPath(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// maxShownName bounds how much of a caller's name an answer repeats.
const maxShownName = 100

// memberPath appends a name to a path. Names that would be misread are quoted.
func memberPath(path, name string) string {
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
