package mapping

import (
	"errors"
	"fmt"
	"strings"
)

// maxTopicBytes is the maximum length of a topic in MQTT.
const maxTopicBytes = 65_535

// topic is a topic with names in place of wildcards: {name} is a level, and {name...}, at the end, one or more levels.
type topic struct {
	levels []string // a name begins with {
	rest   bool     // the last level is all levels from there on
}

// parseTopic parses a topic.
func parseTopic(text string) (topic, error) {
	t := topic{levels: strings.Split(text, "/")}
	switch {
	case text == "":
		return t, errors.New("is required")
	case len(text) > maxTopicBytes || strings.ContainsAny(text, "#+\x00"):
		return t, errors.New("must not contain +, # or the null character: write {name} for a level, {name...} for the rest")
	case strings.HasPrefix(text, "$share/"):
		return t, errors.New("must not begin with $share: set sharedGroup of the broker")
	}
	seen := map[string]bool{}
	for i, level := range t.levels {
		if !strings.ContainsAny(level, "{}") {
			continue
		}
		name, ok := strings.CutPrefix(level, "{")
		name, closed := strings.CutSuffix(name, "}")
		name, rest := strings.CutSuffix(name, "...")
		switch {
		case !ok || !closed || !isName(name):
			return t, fmt.Errorf("%q must be a whole level {name} of letters, digits and _", level)
		case seen[name]:
			return t, fmt.Errorf("has {%s} twice", name)
		case rest && i < len(t.levels)-1:
			return t, fmt.Errorf("must end with {%s...}", name)
		}
		seen[name] = true
		t.levels[i], t.rest = "{"+name, rest
	}
	return t, nil
}

// isName reports whether text is a name of a level.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// filter returns the topic filter of MQTT.
func (t *topic) filter() string {
	levels := make([]string, len(t.levels))
	for i, level := range t.levels {
		switch {
		case !strings.HasPrefix(level, "{"):
			levels[i] = level
		case t.rest && i == len(levels)-1:
			levels[i] = "#"
		default:
			levels[i] = "+"
		}
	}
	return strings.Join(levels, "/")
}

// names returns the names of the levels.
func (t *topic) names() map[string]bool {
	names := map[string]bool{}
	for _, level := range t.levels {
		if name, ok := strings.CutPrefix(level, "{"); ok {
			names[name] = true
		}
	}
	return names
}

// match returns the levels of a topic by name. ok is false if the topic does not match.
func (t *topic) match(text string) (levels map[string]string, ok bool) {
	levels = map[string]string{}
	for i, level := range t.levels {
		name, named := strings.CutPrefix(level, "{")
		if t.rest && i == len(t.levels)-1 {
			levels[name] = text
			return levels, text != ""
		}
		here, rest, more := strings.Cut(text, "/")
		if last := i == len(t.levels)-1; more == last {
			return nil, false
		}
		switch {
		case named:
			levels[name] = here
		case here != level:
			return nil, false
		}
		text = rest
	}
	return levels, true
}
