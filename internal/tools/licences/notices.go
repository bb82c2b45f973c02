package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const preface = `Livegraph has the following inside, or is built from it. Their licences ask for these notices. What is
below a line of dashes holds for what is listed above it.

The embedding model inside has notices of its own: internal/retrieval/embed/minilm-static-256/NOTICE. The
documentation of the interface is shown by Swagger UI, Copyright SmartBear Software Inc., under the Apache License 2.0
below, which github.com/swaggest/swgui brings along.

PDF files are read by PDFium, Copyright The PDFium Authors, under the Apache License 2.0 below, which
github.com/klippa-app/go-pdfium brings along. Portions of PDFium are copyright The FreeType Project
(www.freetype.org), all rights reserved; Independent JPEG Group and libjpeg-turbo; OpenJPEG (BSD 2-Clause); Little CMS
(MIT); zlib; Anti-Grain Geometry; and ICU (Unicode License).
`

// text is the text of a licence or notice with the names of its dependencies.
type text struct {
	body  string
	names []string
}

// notices writes the texts of all dependencies of the binary, each once.
func notices(root string, out io.Writer) error {
	inside, err := insideBinary(root)
	if err != nil {
		return err
	}
	policy, err := readPolicy(filepath.Join(root, policyPath))
	if err != nil {
		return err
	}
	var all []*text
	var without []string
	known := map[string]*text{}
	for _, d := range inside {
		paths, err := noticesOf(d)
		if err != nil {
			return err
		}
		if len(paths) == 0 {
			without = append(without, d.name+" "+d.version+": "+policy.describe(d))
		}
		for _, path := range paths {
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			key := strings.Join(strings.Fields(string(body)), " ")
			if known[key] == nil {
				known[key] = &text{body: strings.TrimSpace(strings.ReplaceAll(string(body), "\r", ""))}
				all = append(all, known[key])
			}
			if t, name := known[key], d.name+" "+d.version; !slices.Contains(t.names, name) {
				t.names = append(t.names, name)
			}
		}
	}
	w := bufio.NewWriter(out)
	fmt.Fprint(w, preface) // Flush returns errors
	for _, t := range all {
		fmt.Fprintf(
			w, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(t.names, "\n"), strings.Repeat("-", 80), t.body,
		)
	}
	fmt.Fprintf(w, "\n%s\nWithout a text of their own:\n\n%s\n", strings.Repeat("=", 80), strings.Join(without, "\n"))
	return w.Flush()
}

// describe describes the licence of a dependency without a licence text.
func (p policy) describe(d dependency) string {
	for _, e := range p.Exceptions {
		if e.Kind == d.kind && e.Name == d.name {
			return e.Reason
		}
	}
	return d.licence
}

// insideBinary lists the dependencies in the binary: the linked modules, Go itself and the packages
// of the admin UI.
func insideBinary(root string) ([]dependency, error) {
	env, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	// Without its version: the text is the same, and toolchains differ between machines.
	inside := []dependency{
		{kind: kindGo, name: "Go", version: "(runtime and standard library)", dir: strings.TrimSpace(string(env))},
	}
	modules, err := listModules(root, "./cmd/livegraph")
	if err != nil {
		return nil, err
	}
	inside = append(inside, modules...)
	packages, err := lockedPackages(filepath.Join(root, "web", "package-lock.json"), true)
	if err != nil {
		return nil, err
	}
	return append(inside, slices.DeleteFunc(packages, func(d dependency) bool { return !d.shipped })...), nil
}

func noticesOf(d dependency) ([]string, error) {
	licences, err := filesNamed(d.dir, licenceName)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", d.name, d.version, err)
	}
	more, err := filesNamed(d.dir, noticeName)
	return append(licences, more...), err
}
