package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const kindPython = "python"

// requirementFiles pin the packages that the binary installs for the embedded engines (true), and
// those of tests (false).
var requirementFiles = map[string]bool{
	"internal/embedded/requirements.txt": true, "internal/embedded/requirements-embedder.txt": true, chosenModel: true,
	"test/influx/requirements.txt": false, "test/mqtt/requirements.txt": false, "test/notebooks/requirements.txt": false,
	"test/otel/requirements.txt": false, "test/sdk/requirements.txt": false,
}

// chosenModel pins the package of a model that is installed only where it is chosen.
const chosenModel = "internal/embedded/requirements-multilingual-e5-small.txt"

// pythonPackages lists the pinned packages with the licences in the metadata of the installed
// packages.
func pythonPackages(root string) (all []dependency, err error) {
	venvs, err := environments(root)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(requirementFiles)) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		for _, d := range pinned(string(text)) {
			d.shipped = requirementFiles[path]
			if d.dir = installed(venvs, d); d.dir == "" && (d.licence == elsewhere || path == chosenModel) {
				d.licence = "" // it cannot be read on this machine: the policy must have it
				all = append(all, d)
				continue
			}
			if d.dir == "" {
				return nil, fmt.Errorf(
					"%s %s of %s is not installed: run `bin/livegraph engines install`, and `make test` for those of tests", d.name,
					d.version, path,
				)
			}
			metadata, err := os.ReadFile(filepath.Join(d.dir, "METADATA"))
			if err != nil {
				return nil, err
			}
			d.licence = licenceOf(metadata)
			all = append(all, d)
		}
	}
	return all, nil
}

// environments returns the site-packages folders on this machine.
func environments(root string) (sites []string, err error) {
	base := os.Getenv("LIVEGRAPH_ENGINES_DIR")
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		base = filepath.Join(cache, "livegraph")
	}
	for _, pattern := range []string{filepath.Join(base, "*"), filepath.Join(root, "bin", "*")} {
		found, err := filepath.Glob(filepath.Join(pattern, "lib", "python3.*", "site-packages"))
		if err != nil {
			return nil, err
		}
		sites = append(sites, found...)
	}
	return sites, nil
}

// elsewhere marks packages that may be only for other Python versions than that of this machine.
const elsewhere = "elsewhere"

var pin = regexp.MustCompile(`(?m)^([A-Za-z0-9._-]+)==([^ ;\\\n]+)( *;)?`)

func pinned(requirements string) (found []dependency) {
	for _, m := range pin.FindAllStringSubmatch(requirements, -1) {
		d := dependency{kind: kindPython, name: m[1], version: m[2]}
		if m[3] != "" {
			d.licence = elsewhere
		}
		found = append(found, d)
	}
	return found
}

// installed returns the folder of a package's metadata, or "" if it is not installed.
func installed(sites []string, d dependency) string {
	// Names are escaped in folder names, in different ways by different tools.
	normal := strings.NewReplacer("-", "_", ".", "_").Replace
	for _, site := range sites {
		folders, _ := filepath.Glob(filepath.Join(site, "*-"+d.version+".dist-info")) // the pattern is valid
		for _, folder := range folders {
			name := strings.TrimSuffix(filepath.Base(folder), "-"+d.version+".dist-info")
			if strings.EqualFold(normal(name), normal(d.name)) {
				return folder
			}
		}
	}
	return ""
}

// spdxIDs maps names of licences in metadata to SPDX ids.
var spdxIDs = map[string]string{
	"Apache Software License": "Apache-2.0", "MIT License": "MIT", "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
	"3-Clause BSD License":               "BSD-3-Clause",
	"Python Software Foundation License": "PSF-2.0", "ISC License (ISCL)": "ISC",
}

// licenceOf returns the licence in the metadata of a package: the expression, or the field, or
// all classifiers, as in PEP 639.
func licenceOf(metadata []byte) string {
	var field string
	var classified []string
	for lines := bufio.NewScanner(bytes.NewReader(metadata)); lines.Scan() && lines.Text() != ""; {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "License-Expression":
			return value
		case name == "License":
			field = value
		case name == "Classifier" && strings.HasPrefix(value, "License :: "):
			classified = append(classified, spdx(value[strings.LastIndex(value, ":: ")+3:]))
		}
	}
	if field != "" && len(field) < 40 { // some packages have the whole text in this field
		return spdx(field)
	}
	return strings.Join(classified, " AND ")
}

func spdx(name string) string {
	if id, known := spdxIDs[name]; known {
		return id
	}
	return strings.ReplaceAll(name, " ", "-")
}
