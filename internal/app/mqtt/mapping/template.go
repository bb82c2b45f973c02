package mapping

import (
	"errors"
	"fmt"
	"strings"
)

// template is a text with parts of the topic, {name}, and of a JSON payload, {.path}.
type template struct{ parts []part }

// part is a text, or the name or path of what is inserted.
type part struct {
	text  string
	level bool     // text is the name of a level of the topic
	path  []string // of the payload; nil: none
}

// parseTemplate parses a template whose names are those of levels. It may have paths only if the payload is JSON.
func parseTemplate(text string, levels map[string]bool, json bool) (template, error) {
	var t template
	for text != "" {
		literal, rest, found := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return t, errors.New("has a } without a {")
		}
		if literal != "" {
			t.parts = append(t.parts, part{text: literal})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		path, isPath := strings.CutPrefix(name, ".")
		switch {
		case !closed:
			return t, errors.New("has a { without a }")
		case isPath && !json:
			return t, fmt.Errorf("has {%s}, but only payloads that are JSON have fields", name)
		case isPath:
			levels, err := parsePath(path)
			if err != nil {
				return t, fmt.Errorf("has {%s}: %w", name, err)
			}
			t.parts = append(t.parts, part{path: levels})
		case !levels[name]:
			return t, fmt.Errorf("has {%s}, which the topic does not have", name)
		default:
			t.parts = append(t.parts, part{text: name, level: true})
		}
		text = after
	}
	return t, nil
}

// parsePath parses the path of a field in a JSON payload: names separated by dots.
func parsePath(text string) ([]string, error) {
	names := strings.Split(text, ".")
	for _, name := range names {
		if name == "" {
			return nil, errors.New("a path is the names of fields, separated by dots")
		}
	}
	return names, nil
}

// expand returns the text for a topic's levels and a payload. ok is false if the payload lacks a field.
func (t *template) expand(levels map[string]string, fields *object) (text string, ok bool) {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.path != nil:
			value, found := fields.text(p.path)
			if !found {
				return "", false
			}
			b.WriteString(value)
		case p.level:
			b.WriteString(levels[p.text])
		default:
			b.WriteString(p.text)
		}
	}
	return b.String(), true
}

// addPaths adds the paths of the payload that the template has.
func (t *template) addPaths(to map[string]bool) {
	for _, p := range t.parts {
		if p.path != nil {
			to[strings.Join(p.path, ".")] = true
		}
	}
}
