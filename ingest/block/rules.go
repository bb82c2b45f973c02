package block

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Limits of a series' identity and of its values.
const (
	MaxTags      = 64
	maxNameRunes = 256  // a metric, a tag's name
	MaxTextBytes = 1024 // a string value, a tag's value
)

// CheckMetric returns the rule that the name of a metric breaks.
func CheckMetric(metric string) rejection.Reason {
	return checkName(metric, rejection.MetricEmpty, rejection.MetricLong, rejection.MetricNUL)
}

func checkName(name string, empty, long, nul rejection.Reason) rejection.Reason {
	switch {
	case name == "":
		return empty
	case len(name) > maxNameRunes && utf8.RuneCountInString(name) > maxNameRunes:
		return long
	case strings.IndexByte(name, 0) >= 0:
		return nul
	}
	return rejection.None
}

// CheckTags returns the first rule that tags break, and whose.
func CheckTags(tags []pointblock.Tag) (rejection.Reason, string) {
	for i := range tags {
		tag := &tags[i]
		if why := checkName(tag.Key, rejection.TagEmpty, rejection.TagLong, rejection.TagNUL); why != rejection.None {
			return why, tag.Key
		}
		if len(tag.Value) > MaxTextBytes {
			return rejection.TagValueLong, tag.Key
		}
		if strings.IndexByte(tag.Value, 0) >= 0 {
			return rejection.TagValueNUL, tag.Key
		}
	}
	return rejection.None, ""
}

// CanNameSource reports whether a source may have the name: by the rules that a
// source created by hand has.
func CanNameSource(name string) bool {
	return name != "" && (len(name) <= maxNameRunes || utf8.RuneCountInString(name) <= maxNameRunes) &&
		utf8.ValidString(name) && strings.TrimSpace(name) != "" && !strings.ContainsFunc(name, endsLines)
}

// endsLines reports control characters, and the separators that end lines for
// many a reader.
func endsLines(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
