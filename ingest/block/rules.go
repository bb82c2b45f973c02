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
	maxNameRunes = 256  // of a metric or a tag name
	MaxTextBytes = 1024 // of a string value or a tag value
)

// CheckMetric returns the rule that the name of a metric breaks, or None.
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

// CheckTags returns the first rule that tags break, and the key of the tag that breaks it.
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

// CanNameSource reports whether name is valid for a source, by the same rules as in the sources API.
func CanNameSource(name string) bool {
	return name != "" && (len(name) <= maxNameRunes || utf8.RuneCountInString(name) <= maxNameRunes) &&
		utf8.ValidString(name) && strings.TrimSpace(name) != "" && !strings.ContainsFunc(name, isControlOrLineEnd)
}

// isControlOrLineEnd reports whether r is a control character or a Unicode line or paragraph separator.
func isControlOrLineEnd(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
