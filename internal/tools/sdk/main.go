// Command sdk writes the types of sdk/go: the schemas of schemas/openapi.yaml that its methods
// use, as structs that oapi-codegen generates.
//
//	sdk [-check] CONTRACT TARGET
//
// The document is changed before: schemas inside others get names, and the fields types that
// are usual in Go (see fields.go). With -check nothing is written, and the exit status is 1 if
// the target is stale.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"os"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	"gopkg.in/yaml.v3"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if the file is stale")
	flag.Parse()
	if err := run(*check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
}

func run(check bool, paths []string) error {
	if len(paths) != 2 {
		return errors.New("usage: sdk [-check] CONTRACT TARGET")
	}
	contract, err := os.ReadFile(paths[0])
	if err != nil {
		return err
	}
	source, err := generate(contract)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(paths[1], source, 0o644) //nolint:gosec // a source file, which all may read
	}
	current, err := os.ReadFile(paths[1])
	if err == nil && string(current) == string(source) {
		return nil
	}
	return errors.Join(fmt.Errorf("%s is stale: commit what `make sdk-generate` writes", paths[1]), err)
}

// header matches what oapi-codegen writes before the package clause.
var header = regexp.MustCompile(`(?s)\A.*?\npackage livegraph\n`)

// generate returns the source of the types.
func generate(contract []byte) ([]byte, error) {
	var document struct {
		Components struct {
			Schemas yaml.Node `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(contract, &document); err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	schemas, err := prepare(&document.Components.Schemas)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(schema{
		"openapi": "3.0.3", "info": schema{"title": "Livegraph", "version": "1"}, "paths": schema{},
		"components": schema{"schemas": schemas},
	})
	if err != nil {
		return nil, err
	}
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("reading the prepared schemas: %w", err)
	}
	code, err := codegen.Generate(spec, configuration())
	if err != nil {
		return nil, fmt.Errorf("oapi-codegen: %w", err)
	}
	const ours = "// Code generated from schemas/openapi.yaml by internal/tools/sdk with oapi-codegen. DO NOT EDIT.\n\n" +
		"package livegraph\n"
	return format.Source([]byte(polish(header.ReplaceAllLiteralString(code, ours))))
}

// maxColumns is the length of lines of comments.
const maxColumns = 118

// polish breaks long comments, and removes the names that oapi-codegen writes before the comments of fields, and the
// comments of fields that are those of their types.
func polish(code string) string {
	var result, comment []string
	for line := range strings.SplitSeq(code, "\n") {
		text, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
		if ok && !strings.HasPrefix(text, "Code generated") {
			comment = append(comment, text)
			continue
		}
		if len(comment) > 0 {
			indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
			if indent != "" {
				_, comment[0], _ = strings.Cut(comment[0], " ")
			}
			if isPredicate(comment[0]) && indent != "" {
				if last := len(result) - 1; result[last] == "" {
					result = result[:last]
				}
			} else {
				result = append(result, wrapped(comment, indent+"// ")...)
			}
			comment = nil
		}
		result = append(result, line)
	}
	return strings.Join(result, "\n")
}

// isPredicate reports whether a comment is the description of a type, as describe requires it.
func isPredicate(comment string) bool {
	verb, _, _ := strings.Cut(comment, " ")
	return verb == "is" || verb == "has" || verb == "describes"
}

// wrapped returns the lines of a paragraph.
func wrapped(paragraph []string, prefix string) (lines []string) {
	line := prefix
	for word := range strings.FieldsSeq(strings.Join(paragraph, " ")) {
		if line != prefix && len(line)+len(word) >= maxColumns {
			lines, line = append(lines, strings.TrimRight(line, " ")), prefix
		}
		line += word + " "
	}
	return append(lines, strings.TrimRight(line, " "))
}

func configuration() codegen.Configuration {
	return codegen.Configuration{
		PackageName: "livegraph",
		Generate:    codegen.GenerateOptions{Models: true},
		OutputOptions: codegen.OutputOptions{
			SkipPrune: true, SkipEnumValidate: true, PreferSkipOptionalPointer: true,
			AdditionalInitialisms: []string{"IDs"}, ExcludeSchemas: written, NameNormalizer: string(codegen.NameNormalizerFunctionToCamelCaseWithInitialisms),
			TypeMapping: &codegen.TypeMapping{
				Number: codegen.FormatMapping{Default: codegen.SimpleTypeSpec{Type: "float64"}},
				String: codegen.FormatMapping{Formats: map[string]codegen.SimpleTypeSpec{"uuid": {Type: "string"}}},
			},
		},
	}
}
