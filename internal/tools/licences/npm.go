package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const kindNPM = "npm"

// npmLocks are the lock files. The value reports whether their packages are shipped, except for
// those marked as development dependencies.
var npmLocks = map[string]bool{
	"web/package-lock.json": true, "test/browser/package-lock.json": false, "sdk/typescript/package-lock.json": false,
}

// npmPackages lists the packages of the lock files.
func npmPackages(root string) (all []dependency, err error) {
	for _, path := range slices.Sorted(maps.Keys(npmLocks)) {
		found, err := lockedPackages(filepath.Join(root, path), npmLocks[path])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func lockedPackages(path string, shipped bool) (found []dependency, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, DevOptional bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, location := range slices.Sorted(maps.Keys(lock.Packages)) {
		if location == "" { // the project itself
			continue
		}
		p := lock.Packages[location]
		name := location[strings.LastIndex(location, "node_modules/")+len("node_modules/"):]
		found = append(found, dependency{
			kind: kindNPM, name: name, version: p.Version, licence: p.License, shipped: shipped && !p.Dev && !p.DevOptional,
			dir: filepath.Join(filepath.Dir(path), location),
		})
	}
	return found, nil
}
