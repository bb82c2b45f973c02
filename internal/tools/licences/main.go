// Command licences checks the licences of the dependencies of Livegraph, including those of
// its build, against a policy (policy.yaml in this folder), and writes the notices that a
// distributed binary must include.
//
//	licences check            check that each licence is allowed or has an exception with a reason
//	licences notices          write the notices of the binary's dependencies to stdout
//
// It reads the linked Go modules, the lock files of npm packages and the installed Python
// packages. It does not use the network.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	root, err := repository()
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "check":
		return check(root, out)
	case len(args) == 1 && args[0] == "notices":
		return notices(root, out)
	}
	return errors.New("usage: `licences check` or `licences notices`")
}

// repository finds the folder with the policy, from the current one upwards.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, policyPath)); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no %s here or above", policyPath)
		}
		dir = parent
	}
}

// dependency is a third-party dependency.
type dependency struct {
	kind    string // go, npm, python
	name    string
	version string
	licence string // SPDX expression; "" if unknown
	shipped bool   // part of the binary, or installed by it
	dir     string // folder of its files; "" if not available
}

func check(root string, out io.Writer) error {
	policy, err := readPolicy(filepath.Join(root, policyPath))
	if err != nil {
		return err
	}
	all, err := dependencies(root)
	if err != nil {
		return err
	}
	problems := policy.judge(all)
	for _, problem := range problems {
		_, _ = fmt.Fprintln(out, problem) // to a terminal
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d of %d dependencies break %s", len(problems), len(all), policyPath)
	}
	counts := map[string]int{}
	for _, d := range all {
		counts[d.kind]++
	}
	_, err = fmt.Fprintf(
		out, "licences of %d Go modules, %d npm and %d Python packages are allowed\n", counts[kindGo], counts[kindNPM],
		counts[kindPython],
	)
	return err
}

func dependencies(root string) (all []dependency, err error) {
	for _, list := range []func(string) ([]dependency, error){goModules, npmPackages, pythonPackages} {
		found, err := list(root)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
