package main

import (
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

const policyPath = "internal/tools/licences/policy.yaml"

// policy is the policy that licences are checked against.
type policy struct {
	// Allowed are the licences (SPDX) that are allowed for all dependencies.
	Allowed []string `yaml:"allowed"`
	// Development are additional licences that are allowed for dependencies of builds and tests.
	Development []string    `yaml:"development"`
	Exceptions  []exception `yaml:"exceptions"`
}

// exception allows one dependency with one licence. It does not apply if the licence changes.
type exception struct {
	Kind    string `yaml:"kind"`
	Name    string `yaml:"name"`
	Licence string `yaml:"licence"` // as found; none: not found
	Reason  string `yaml:"reason"`
}

const none = "none"

func readPolicy(path string) (p policy, err error) {
	file, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range p.Exceptions {
		if e.Kind == "" || e.Name == "" || e.Licence == "" || e.Reason == "" {
			return p, fmt.Errorf("%s: the exception for %q lacks a kind, name, licence or reason", path, e.Name)
		}
	}
	return p, nil
}

// judge returns the dependencies that violate the policy, and the exceptions that are not
// used.
func (p policy) judge(all []dependency) (problems []string) {
	used := make([]bool, len(p.Exceptions))
	for _, d := range all {
		if p.allows(d) {
			// The exception may be for machines on which the licence cannot be read.
			for i, e := range p.Exceptions {
				used[i] = used[i] || e.Kind == d.kind && e.Name == d.name && e.Licence == none
			}
			continue
		}
		found := d.licence
		if found == "" {
			found = none
		}
		index := slices.IndexFunc(p.Exceptions, func(e exception) bool {
			return e.Kind == d.kind && e.Name == d.name && e.Licence == found
		})
		if index >= 0 {
			used[index] = true
			continue
		}
		usage := "for development"
		if d.shipped {
			usage = "shipped"
		}
		problems = append(problems, fmt.Sprintf(
			"%s %s %s (%s): licence %s is not allowed", d.kind, d.name, d.version, usage, found,
		))
	}
	for i, e := range p.Exceptions {
		if !used[i] {
			problems = append(problems, fmt.Sprintf("the exception for %s %s (%s) is for nothing", e.Kind, e.Name, e.Licence))
		}
	}
	return problems
}

func (p policy) allows(d dependency) bool {
	if d.licence == "" {
		return false
	}
	ok, err := satisfied(d.licence, func(id string) bool {
		return slices.Contains(p.Allowed, id) || !d.shipped && slices.Contains(p.Development, id)
	})
	return err == nil && ok
}
