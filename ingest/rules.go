package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Limits of a series' identity and of its values.
const (
	maxTags      = 64
	maxNameRunes = 256  // a metric, a tag's name
	maxTextBytes = 1024 // a string value, a tag's value
)

func checkMetric(metric string) reason {
	return checkName(metric, metricEmpty, metricLong, metricNUL)
}

func checkName(name string, empty, long, nul reason) reason {
	switch {
	case name == "":
		return empty
	case len(name) > maxNameRunes && utf8.RuneCountInString(name) > maxNameRunes:
		return long
	case strings.IndexByte(name, 0) >= 0:
		return nul
	}
	return accepted
}

// checkTags returns the first rule that tags break, and whose.
func checkTags(tags []pointblock.Tag) (reason, string) {
	for i := range tags {
		tag := &tags[i]
		if why := checkName(tag.Key, tagEmpty, tagLong, tagNUL); why != accepted {
			return why, tag.Key
		}
		if len(tag.Value) > maxTextBytes {
			return tagValueLong, tag.Key
		}
		if strings.IndexByte(tag.Value, 0) >= 0 {
			return tagValueNUL, tag.Key
		}
	}
	return accepted, ""
}

// canNameSource reports whether a source may have the name: by the rules that a
// source created by hand has.
func canNameSource(name string) bool {
	return name != "" && (len(name) <= maxNameRunes || utf8.RuneCountInString(name) <= maxNameRunes) &&
		utf8.ValidString(name) && strings.TrimSpace(name) != "" && !strings.ContainsFunc(name, endsLines)
}

// endsLines reports control characters, and the separators that end lines for
// many a reader.
func endsLines(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
