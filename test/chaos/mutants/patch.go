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
	faults    string // kinds, by comma; empty: a test is to catch it
	count     int
	test, run string
	files     []string // of the tree, that it changes
}

// readPatch reads the header of a patch, and which files it changes.
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

// broken are the invariants by which the bug counts as caught. That something else is
// wrong may be for other reasons.
func (p patch) broken() (numbers []int) {
	for text := range strings.SplitSeq(p.invariant, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// overlay applies the patch to copies of the files that it changes, and gives the file
// that has the go command take these instead.
func (p patch) overlay(ctx context.Context, path, dir string) (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range p.files {
		copied := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return "", err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(copied, raw, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(here, file)] = copied
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	apply := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", absolute)
	apply.Dir = dir
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // of no repository
	if said, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the patch does not apply any more: %w: %s", err, said)
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "overlay.json")
	return to, os.WriteFile(to, raw, 0o600)
}
