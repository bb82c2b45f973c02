package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// report is the output of Playwright's reporter "json": nested suites with specs.
type report struct {
	Suites []suite
	// Errors are errors outside of specs, such as in the seed.
	Errors []failure
}

type suite struct {
	Title  string
	File   string
	Suites []suite
	Specs  []struct {
		Title string
		OK    bool
		Tests []struct {
			Status  string
			Results []struct{ Errors []failure }
		}
	}
}

type failure struct{ Message string }

// outcome is the result of a spec.
type outcome struct {
	name    string
	ok      bool
	skipped bool
	message string // why it failed
}

// colours matches the terminal colours in Playwright's messages.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func (f failure) String() string { return colours.ReplaceAllString(f.Message, "") }

// outcomes returns all specs of a suite, named with the titles of its parents.
func (s suite) outcomes(path string) (all []outcome) {
	for _, spec := range s.Specs {
		one := outcome{name: path + ": " + spec.Title, ok: spec.OK}
		for _, test := range spec.Tests {
			one.skipped = one.skipped || test.Status == "skipped"
			for _, result := range test.Results {
				for _, e := range result.Errors {
					one.message += e.String() + "\n"
				}
			}
		}
		all = append(all, one)
	}
	for _, inner := range s.Suites {
		all = append(all, inner.outcomes(path+": "+inner.Title)...)
	}
	return all
}

// readReport returns the result of each spec, and the errors outside of specs. It returns nothing if
// the run ended before it wrote a report.
func readReport(t *testing.T, path string) (all []outcome, outside []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(content, &r))
	for _, file := range r.Suites {
		all = append(all, file.outcomes(strings.TrimSuffix(filepath.Base(file.File), ".spec.ts"))...)
	}
	for _, e := range r.Errors {
		outside = append(outside, e.String())
	}
	return all, outside
}

// runSpecTests runs a subtest for each spec, so that the names of failed tests identify the specs, and
// returns the failures.
func runSpecTests(t *testing.T, specs []outcome) (failed []string) {
	t.Helper()
	for _, one := range specs {
		t.Run(one.name, func(t *testing.T) {
			switch {
			case one.skipped:
				t.Skip("skipped by the spec")
			case !one.ok:
				t.Error(one.message)
			}
		})
		if !one.ok {
			failed = append(failed, one.name+"\n"+one.message)
		}
	}
	return failed
}
