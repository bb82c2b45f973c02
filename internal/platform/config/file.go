package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// YAML reads a configuration file for kong. Keys are flag names without the leading
// dashes, either flat (kafka-brokers) or nested (kafka: {brokers: …}). An unknown key
// is an error, so that a typo is not ignored.
func YAML(r io.Reader) (kong.Resolver, error) {
	var tree map[string]any
	if err := yaml.NewDecoder(r).Decode(&tree); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the configuration file: %w", err)
	}
	values := map[string]any{}
	flatten("", tree, values)
	return &resolver{values: values}, nil
}

type resolver struct{ values map[string]any }

// Validate returns an error if the file has keys that are not flags of the application.
func (r *resolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			known[flag.Name] = true
		}
		return next(nil)
	})
	var unknown []string
	for key := range r.values {
		if !known[key] {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("the configuration file has unknown settings: %s", strings.Join(unknown, ", "))
	}
	return nil
}

// Resolve returns the value of a flag in the file. It returns nil if the file has none,
// or if the environment has one, because kong would prefer the file.
func (r *resolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	value, ok := r.values[flag.Name]
	if !ok {
		return nil, nil
	}
	if list, isList := value.([]any); isList {
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = fmt.Sprint(item)
		}
		return strings.Join(parts, ","), nil
	}
	return fmt.Sprint(value), nil
}

func flatten(prefix string, tree, flat map[string]any) {
	for key, value := range tree {
		if sub, ok := value.(map[string]any); ok {
			flatten(prefix+key+"-", sub, flat)
			continue
		}
		flat[prefix+key] = value
	}
}
