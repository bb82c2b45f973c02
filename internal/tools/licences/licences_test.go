package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnExpressionIsKeptByWhatIsAllowed(t *testing.T) {
	allowed := func(id string) bool { return id == "MIT" || id == "Apache-2.0" }
	for expression, want := range map[string]bool{
		"MIT": true, "GPL-3.0": false, "MIT AND Apache-2.0": true, "MIT AND GPL-3.0": false, "GPL-3.0 OR MIT": true,
		"(GPL-3.0 OR MIT) AND Apache-2.0": true, "GPL-3.0 OR MIT AND ISC": false,
		"(MIT AND (ISC OR GPL-3.0)) OR Apache-2.0": true,
		"Apache-2.0 WITH LLVM-exception":           true, "mit": false,
	} {
		ok, err := satisfied(expression, allowed)
		require.NoError(t, err, expression)
		require.Equal(t, want, ok, expression)
	}
	for _, expression := range []string{"", "MIT AND", "(MIT", "MIT)", "OR MIT", "MIT Apache-2.0", "MIT WITH"} {
		_, err := satisfied(expression, func(string) bool { return true })
		require.Error(t, err, expression)
	}
}

func TestALicenceThatIsNotAllowedIsNamed(t *testing.T) {
	p := policy{Allowed: []string{"MIT"}, Development: []string{"GPL-3.0"}, Exceptions: []exception{
		{Kind: kindGo, Name: "b", Licence: "MPL-2.0", Reason: "r"}, {Kind: kindGo, Name: "c", Licence: none, Reason: "r"},
		{Kind: kindNPM, Name: "gone", Licence: "X", Reason: "r"},
	}}
	problems := p.judge([]dependency{
		{kind: kindGo, name: "a", licence: "MIT", shipped: true},
		{kind: kindGo, name: "b", licence: "MPL-2.0", shipped: true}, {kind: kindGo, name: "c", shipped: true},
		{kind: kindNPM, name: "d", licence: "GPL-3.0"},
		{kind: kindNPM, name: "e", version: "1.2", licence: "GPL-3.0", shipped: true}, {kind: kindPython, name: "f"},
		{kind: kindNPM, name: "b", licence: "MPL-2.0", shipped: true},
	})
	require.Equal(t, []string{
		"npm e 1.2 (shipped): licence GPL-3.0 is not allowed", "python f  (for development): licence none is not allowed",
		"npm b  (shipped): licence MPL-2.0 is not allowed",
		"the exception for npm gone (X) is for nothing",
	}, problems)
}

func TestAPolicyHasAReasonForEachException(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for text, wrong := range map[string]string{
		"allowed: [MIT]\nexceptions: [{kind: go, name: a, licence: X}]":            "lacks",
		"allowed: [MIT]\nexceptions: [{kind: go, name: a, licence: X, reason: r}]": "",
		"alowed: [MIT]": "alowed",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readPolicy(path)
		if wrong == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, wrong)
	}
}

func TestLicencesAreReadByTheirTexts(t *testing.T) {
	mit := `MIT License

Copyright (c) 2026 X

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"known":        {map[string]string{"LICENSE": mit, "main.go": "x"}, "MIT"},
		"another name": {map[string]string{"COPYING": mit}, "MIT"}, "no text": {map[string]string{"README": mit}, ""},
		"unknown": {
			map[string]string{
				"LICENSE": "You may use this on Tuesdays, and must not tell anybody of it afterwards in any way whatsoever.",
			},
			"",
		},
		"one of two unknown": {map[string]string{"LICENSE": mit, "LICENSE-OTHER": strings.Repeat("You must sing. ", 50)}, ""},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		found, err := licenceIn(dir)
		require.NoError(t, err)
		require.Equal(t, c.want, found, name)
	}
}

func TestPackagesOfALockFileAreShippedUnlessForDevelopment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "package-lock.json")
	require.NoError(
		t,
		os.WriteFile(path, []byte(`{"packages":{"":{"version":"0"},"node_modules/a":{"version":"1","license":"MIT"},
		"node_modules/a/node_modules/@b/c":{"version":"2","license":"ISC","dev":true},
		"node_modules/d":{"version":"3"}}}`), 0o600),
	)
	found, err := lockedPackages(path, true)
	require.NoError(t, err)
	for i := range found {
		found[i].dir = ""
	}
	require.Equal(t, []dependency{
		{kind: kindNPM, name: "a", version: "1", licence: "MIT", shipped: true},
		{kind: kindNPM, name: "@b/c", version: "2", licence: "ISC"}, {kind: kindNPM, name: "d", version: "3", shipped: true},
	}, found)
}

func TestLicencesOfPythonPackagesAreReadInEveryForm(t *testing.T) {
	for metadata, want := range map[string]string{
		"Name: a\nLicense-Expression: MIT OR ISC\nLicense: x\n\nbody":                        "MIT OR ISC",
		"Name: a\nLicense: Apache-2.0\nClassifier: License :: OSI Approved :: MIT License\n": "Apache-2.0",
		"Name: a\nClassifier: License :: OSI Approved :: MIT License\nClassifier: License :: OSI Approved :: ISC " +
			"License (ISCL)": "MIT AND ISC",
		"Name: a\nLicense: GNU General Public License\n": "GNU-General-Public-License",
		"Name: a\n\nLicense: MIT":                        "",
	} {
		require.Equal(t, want, licenceOf([]byte(metadata)), metadata)
	}
	require.Equal(t, []dependency{
		{kind: kindPython, name: "a.b", version: "1.2"}, {kind: kindPython, name: "c", version: "3"},
		{kind: kindPython, name: "d", version: "4", licence: elsewhere},
	},
		pinned("# x\na.b==1.2 \\\n    --hash=sha256:00\nc==3\nd==4 ; python_version < '3.1' \\\n    --hash=sha256:01\n"))
}
