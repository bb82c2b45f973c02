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

// report is what Playwright's reporter "json" writes: suites in suites, with specs in them.
type report struct {
	Suites []suite
	// Errors are those outside of every spec: in the seed, for instance.
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

// outcome is what became of a spec.
type outcome struct {
	name    string
	ok      bool
	skipped bool
	said    string // why it failed
}

// colours are the terminal's, which Playwright puts into its messages.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func (f failure) String() string { return colours.ReplaceAllString(f.Message, "") }

// outcomes returns every spec below a suite, with the titles on the way to it.
func (s suite) outcomes(way string) (all []outcome) {
	for _, spec := range s.Specs {
		one := outcome{name: way + ": " + spec.Title, ok: spec.OK}
		for _, test := range spec.Tests {
			one.skipped = one.skipped || test.Status == "skipped"
			for _, result := range test.Results {
				for _, e := range result.Errors {
					one.said += e.String() + "\n"
				}
			}
		}
		all = append(all, one)
	}
	for _, inner := range s.Suites {
		all = append(all, inner.outcomes(way+": "+inner.Title)...)
	}
	return all
}

// readReport returns what became of each spec, and what went wrong outside of them; nothing if
// the run ended before it wrote any.
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

// judge makes a test of each spec, so that anyone who reads only the names of what failed reads
// which, and gives what they said.
func judge(t *testing.T, specs []outcome) (failed []string) {
	t.Helper()
	for _, one := range specs {
		t.Run(one.name, func(t *testing.T) {
			switch {
			case one.skipped:
				t.Skip("skipped by the spec")
			case !one.ok:
				t.Error(one.said)
			}
		})
		if !one.ok {
			failed = append(failed, one.name+"\n"+one.said)
		}
	}
	return failed
}
