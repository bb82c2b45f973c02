package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// schema is a schema, or a map of them, as it is written in the document.
type schema = map[string]any

const reference = "#/components/schemas/"

// prepare returns the schemas to generate, with the names that they have in Go.
func prepare(document *yaml.Node) (schema, error) {
	setOrder(document)
	all := schema{}
	if err := document.Decode(&all); err != nil {
		return nil, err
	}
	// The schemas inside others first, so that they are found by their paths.
	paths := slices.SortedFunc(maps.Keys(named), func(a, b string) int {
		return cmp.Or(strings.Count(b, ".")-strings.Count(a, "."), cmp.Compare(a, b))
	})
	for _, path := range paths {
		if err := extract(all, path, named[path]); err != nil {
			return nil, err
		}
	}
	kept, missing := schema{}, selected
	for len(missing) > 0 {
		name := missing[0]
		missing = missing[1:]
		if _, known := kept[name]; known {
			continue
		}
		found, ok := all[name].(schema)
		if !ok {
			return nil, fmt.Errorf("there is no schema %s", name)
		}
		if name != "Properties" {
			missing = append(missing, simplify(all, name, found)...)
		}
		kept[name] = found
	}
	if err := describe(kept); err != nil {
		return nil, err
	}
	return rename(kept), nil
}

// setOrder keeps the order of the fields, which oapi-codegen sorts otherwise.
func setOrder(node *yaml.Node) {
	for i, child := range node.Content {
		if i > 0 && node.Kind == yaml.MappingNode && node.Content[i-1].Value == "properties" && i%2 == 1 {
			for j := 1; j < len(child.Content); j += 2 {
				if field := child.Content[j]; field.Kind == yaml.MappingNode {
					field.Content = append(
						field.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "x-order"},
						&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(j)},
					)
				}
			}
		}
		setOrder(child)
	}
}

// extract replaces the schema at a path by a reference to a schema with this name.
func extract(all schema, path, name string) error {
	parts := strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
	parent, _ := all[parts[0]].(schema)
	key := ""
	for i, part := range parts[1:] {
		container, next := parent, "items"
		if part != "[]" {
			container, _ = parent["properties"].(schema)
			next = part
		}
		child, ok := container[next].(schema)
		if !ok {
			return fmt.Errorf("there is no schema %s", path)
		}
		if i == len(parts)-2 {
			parent, key = container, next
			break
		}
		parent = child
	}
	found, _ := parent[key].(schema)
	if order, ok := found["x-order"]; ok {
		parent[key] = schema{"$ref": reference + name, "x-order": order}
	} else {
		parent[key] = schema{"$ref": reference + name}
	}
	delete(found, "x-order")
	if _, known := all[name]; !known {
		all[name] = found
	}
	return nil
}

// simplify changes a schema and those inside it to what oapi-codegen generates usual Go types for. It returns the
// names of the schemas that it refers to.
func simplify(all schema, path string, s schema) (references []string) {
	if target, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(target, reference)
		referenced, _ := all[name].(schema)
		if isType(name, referenced) {
			return []string{name}
		}
		delete(s, "$ref")
		for key, value := range copied(referenced) {
			if _, own := s[key]; !own {
				s[key] = value
			}
		}
	}
	delete(s, "example")
	if s["oneOf"] != nil || s["anyOf"] != nil {
		maps.DeleteFunc(s, func(key string, _ any) bool { return key != "description" && key != "x-order" })
		s["x-go-type"] = "any"
		return nil
	}
	if enum, ok := s["enum"].([]any); ok && strings.ContainsAny(path, ".[") {
		removeEnum(s, enum)
	} else if ok {
		s["x-enum-varnames"] = constants(path, enum)
	}
	if items, ok := s["items"].(schema); ok {
		references = append(references, simplify(all, path+"[]", items)...)
	}
	if values, ok := s["additionalProperties"].(schema); ok {
		references = append(references, simplify(all, path+"{}", values)...)
	}
	fields, _ := s["properties"].(schema)
	if fields != nil {
		delete(s, "additionalProperties")
	}
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := fields[name].(schema)
		references = append(references, simplify(all, path+"."+name, field)...)
		target, _ := all[refName(field)].(schema)
		setType(path, name, field, slices.Contains(required, any(name)), target)
	}
	return references
}

// isType reports whether a schema has a type of its own in Go: an object with fields, or an enumeration.
func isType(name string, s schema) bool {
	return s["properties"] != nil || s["enum"] != nil && s["type"] == "string" || slices.Contains(written, name)
}

// copied returns a copy of a value that shares no maps with it.
func copied[T any](value T) T {
	switch v := any(value).(type) {
	case schema:
		result := make(schema, len(v))
		for key, inner := range v {
			result[key] = copied(inner)
		}
		return any(result).(T)
	case []any:
		result := make([]any, len(v))
		for i, inner := range v {
			result[i] = copied(inner)
		}
		return any(result).(T)
	}
	return value
}

// removeEnum replaces the values of an enumeration without a name by a sentence.
func removeEnum(s schema, values []any) {
	delete(s, "enum")
	var texts []string
	for _, value := range values {
		if value != nil {
			texts = append(texts, fmt.Sprint(value))
		}
	}
	if len(texts) < 2 {
		return
	}
	sentence := fmt.Sprintf("One of: %s.", strings.Join(texts, ", "))
	description, _ := s["description"].(string)
	s["description"] = strings.TrimSpace(strings.TrimSpace(description) + " " + sentence)
}

// constants returns the names of the constants of an enumeration, such as CommandTypeCreateNode for CREATE_NODE and
// FacetNameEntityType for entityType.
func constants(name string, values []any) (names []any) {
	for _, value := range values {
		text := cmp.Or(renamed[name], name)
		words := strings.FieldsFunc(fmt.Sprint(value), func(r rune) bool { return strings.ContainsRune("_.:", r) })
		for _, word := range words {
			if word == strings.ToUpper(word) {
				word = strings.ToLower(word)
			}
			text += strings.ToUpper(word[:1]) + word[1:]
		}
		names = append(names, text)
	}
	return names
}

// setType decides which fields are pointers and which are left out of requests. The target is the schema that the
// field refers to, if it does.
func setType(path, name string, field schema, required bool, target schema) {
	kind, _ := field["type"].(string)
	_, object := field["$ref"]
	nullable := field["nullable"] == true
	if patches[path] && !required {
		field["x-go-type"] = "Field[" + patchType(field) + "]"
		field["x-omitempty"], field["x-omitzero"] = false, true
		delete(field, "nullable")
		return
	}
	if name == "sequence" {
		field["format"] = "int64"
	}
	number := kind == "integer" || kind == "number"
	pointer := target["properties"] != nil && (!required || target["nullable"] == true)
	switch {
	case number && nullable && required:
		pointer = true
	case number && !required && !nullable:
		pointer = zeroIsAValue(field) && !zeroIsAbsent[path+"."+name]
	case kind == "boolean" && field["default"] == true:
		pointer = true
	}
	if !pointer && !object {
		delete(field, "nullable")
	}
	field["x-go-type-skip-optional-pointer"] = !pointer
	if !required && field["format"] == "date-time" {
		field["x-omitempty"], field["x-omitzero"] = false, true
	}
}

// refName returns the name of the schema that a field refers to, or "".
func refName(field schema) string {
	target, _ := field["$ref"].(string)
	return strings.TrimPrefix(target, reference)
}

// zeroIsAValue reports whether 0 is allowed and differs from an absent field.
func zeroIsAValue(field schema) bool {
	minimum, bounded := field["minimum"]
	if value, ok := field["default"]; ok && fmt.Sprint(value) == "0" {
		return false
	}
	return !bounded || fmt.Sprint(minimum) == "0"
}

// patchType returns the type of a value in a merge patch.
func patchType(field schema) string {
	if name := refName(field); name != "" {
		return name
	}
	switch field["type"] {
	case "integer":
		return "int"
	case "number":
		return "float64"
	case "boolean":
		return "bool"
	case "array":
		items, _ := field["items"].(schema)
		return "[]" + patchType(items)
	case "object":
		values, ok := field["additionalProperties"].(schema)
		switch {
		case !ok:
			return "map[string]any"
		case values["nullable"] == true:
			return "map[string]*" + patchType(values)
		}
		return "map[string]" + patchType(values)
	}
	return "string"
}

// describe adds comments to schemas without a description, and makes all of them predicates: oapi-codegen writes them
// after the name.
func describe(schemas schema) error {
	for name, comment := range comments {
		s, ok := schemas[name].(schema)
		if !ok {
			return fmt.Errorf("there is no schema %s to describe", name)
		}
		s["description"] = comment
	}
	var missing error
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name].(schema)
		sentence, _ := s["description"].(string)
		article, _, _ := strings.Cut(sentence, " ")
		switch {
		case slices.Contains(written, name):
		case article == "A" || article == "An" || article == "The":
			s["description"] = "is " + strings.ToLower(sentence[:1]) + sentence[1:]
		case isPredicate(sentence):
		default:
			missing = errors.Join(missing, fmt.Errorf("the description of schema %s is no predicate of its name", name))
		}
	}
	return missing
}

// rename returns the schemas with the names that they have in Go.
func rename(schemas schema) schema {
	var follow func(value any)
	follow = func(value any) {
		switch v := value.(type) {
		case schema:
			if target, ok := v["$ref"].(string); ok {
				name := strings.TrimPrefix(target, reference)
				v["$ref"] = reference + cmp.Or(renamed[name], name)
			}
			for _, inner := range v {
				follow(inner)
			}
		case []any:
			for _, inner := range v {
				follow(inner)
			}
		}
	}
	follow(schemas)
	result := schema{}
	for name, s := range schemas {
		result[cmp.Or(renamed[name], name)] = s
	}
	return result
}
