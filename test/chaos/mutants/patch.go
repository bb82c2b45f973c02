package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// patch is a planted bug.
type patch struct {
	name      string
	bug       string
	invariant string
	faults    string // kinds, separated by commas; empty: a test must catch it
	count     int
	test, run string
	files     []string // paths that the patch changes
}

// readPatch reads the header of a patch, and the names of the files that it changes.
func readPatch(name, path string) (p patch, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	p.name = name
	header := true
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line := lines.Text()
		if file, ok := strings.CutPrefix(line, "--- a/"); ok {
			p.files = append(p.files, file)
		}
		if header = header && line != ""; !header {
			continue
		}
		field, text, _ := strings.Cut(line, ": ")
		switch field {
		case "Bug":
			p.bug = text
		case "Invariant":
			p.invariant = text
		case "Faults":
			p.faults = text
		case "Count":
			p.count, err = strconv.Atoi(text)
		case "Test":
			p.test = text
		case "Run":
			p.run = text
		default:
			err = fmt.Errorf("its header has a field %q", field)
		}
		if err != nil {
			return p, err
		}
	}
	if p.bug == "" || p.invariant == "" || len(p.files) == 0 || (p.faults == "") == (p.test == "") {
		return p, errors.New("its header does not say what the bug is, what it breaks, and what is to catch it")
	}
	return p, nil
}

// invariants returns the invariants whose violation counts as catching the bug. Other violations
// may have other causes.
func (p patch) invariants() (numbers []int) {
	for text := range strings.SplitSeq(p.invariant, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// overlay applies the patch to copies of the files that it changes, and returns the path of the
// overlay file that makes the go command use the copies.
func (p patch) overlay(ctx context.Context, path, dir string) (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range p.files {
		target := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return "", err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(target, raw, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = target
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	apply := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", absolute)
	apply.Dir = dir
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // so that git finds no repository
	if output, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the patch does not apply any more: %w: %s", err, output)
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayPath := filepath.Join(dir, "overlay.json")
	return overlayPath, os.WriteFile(overlayPath, raw, 0o600)
}
