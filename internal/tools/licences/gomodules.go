package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

const (
	kindGo    = "go"
	ownModule = "github.com/livegraph/livegraph"
	// minCoverage is the minimum share of a licence file that must be known text, in percent.
	minCoverage = 75
)

// goModules lists the modules whose packages are built into the binary, or into tests and
// tools.
func goModules(root string) (all []dependency, err error) {
	shipped, err := listModules(root, "./cmd/livegraph")
	if err != nil {
		return nil, err
	}
	for i := range shipped {
		shipped[i].shipped = true
	}
	all = shipped
	folders, err := modulesBelow(root)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		built := []string{"-test", "./..."}
		if tools := filepath.Join(root, "internal", "tools"); folder == tools || filepath.Dir(folder) == tools {
			built = []string{"-test", "tool", "./..."}
		}
		found, err := listModules(folder, built...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(d dependency) bool { // the shipped one is first
		known := seen[d.name+"@"+d.version]
		seen[d.name+"@"+d.version] = true
		return known
	})
	for i := range all {
		if all[i].licence, err = licenceIn(all[i].dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// skippedFolders are folders without sources of Livegraph.
var skippedFolders = []string{"node_modules", "bin", "data"}

// modulesBelow returns the folders with a go.mod.
func modulesBelow(root string) (folders []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains(skippedFolders, name)):
			return filepath.SkipDir
		case name == "go.mod":
			folders = append(folders, filepath.Dir(path))
		}
		return nil
	})
	return folders, err
}

// listModules returns the modules of packages and their dependencies, sorted by name. The
// platform is fixed, so that the result is the same on every machine.
func listModules(dir string, packages ...string) (found []dependency, err error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}}` + "\t" + `{{.Version}}` + "\t" + `{{.Dir}}{{end}}{{end}}`
	list := exec.Command("go", append([]string{"list", "-deps", "-f", format}, packages...)...)
	list.Dir = dir
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	lines := strings.Fields(strings.ReplaceAll(string(text), "\t", "|"))
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		part := strings.Split(line, "|")
		if len(part) != 3 {
			return nil, fmt.Errorf("go list in %s: %q is not understood", dir, line)
		}
		if part[0] == ownModule || strings.HasPrefix(part[0], ownModule+"/") {
			continue
		}
		found = append(found, dependency{kind: kindGo, name: part[0], version: part[1], dir: part[2]})
	}
	return found, nil
}

var (
	licenceName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([.-].*)?$`)
	// Modules of Eclipse have the licence that is chosen of two, a BSD-3-Clause, beside LICENSE.
	noticeName = regexp.MustCompile(`(?i)^((notice|patents)([.-].*)?|edl-v10)$`)
)

// filesNamed returns the files of a folder whose names match, sorted.
func filesNamed(dir string, names *regexp.Regexp) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if entry.Type().IsRegular() && names.MatchString(entry.Name()) && ext != ".go" && ext != ".json" {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, nil
}

// licenceIn returns the licences of the texts in a folder, joined with AND. It returns "" if
// there is no text, or an unknown one.
func licenceIn(dir string) (string, error) {
	paths, err := filesNamed(dir, licenceName)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		found := licensecheck.Scan(text)
		if found.Percent < minCoverage {
			return "", nil
		}
		for _, match := range found.Match {
			if !match.IsURL {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}
