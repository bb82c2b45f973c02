package livegraph_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is an example of a page.
type example struct {
	line   int
	source string
}

// examplesOf returns the examples of a page: programs, and the parts of one function.
func examplesOf(t *testing.T, page string) (programs, parts []example) {
	t.Helper()
	text, err := os.ReadFile(page)
	if os.IsNotExist(err) {
		t.Skip("the module is outside of the repository")
	}
	noError(t, err)
	for _, match := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllSubmatchIndex(text, -1) {
		found := example{strings.Count(string(text[:match[0]]), "\n") + 2, string(text[match[2]:match[3]])}
		if strings.HasPrefix(found.source, "package main") {
			programs = append(programs, found)
		} else {
			parts = append(parts, found)
		}
	}
	return programs, parts
}

// imports are the packages that examples use.
var imports = []string{"context", "errors", "fmt", "io", "log", "net/http", "time"}

// programOf returns a program with the parts, which prints a mark before each. They share their names, as on the
// page.
func programOf(parts []example) string {
	var body strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&body, "fmt.Println(\"\\x00%d\")\n%s\n", part.line, part.source)
	}
	begin := "ctx := context.Background()\n"
	if !strings.Contains(body.String(), "livegraph.FromEnvironment(") {
		begin += "client, err := livegraph.FromEnvironment()\nif err != nil {\nlog.Fatal(err)\n}\n"
	}
	source := "func main() {\n" + begin + body.String() + "}\n"
	head := "package main\n\nimport (\nlivegraph \"github.com/livegraph/livegraph/sdk/go\"\n"
	for _, path := range imports {
		if strings.Contains(source, path[strings.LastIndexByte(path, '/')+1:]+".") {
			head += fmt.Sprintf("%q\n", path)
		}
	}
	return head + ")\n\n" + source
}

// execute runs a program in a module of its own and returns what it prints.
func execute(t *testing.T, source string) string {
	t.Helper()
	sdk, err := filepath.Abs(".")
	noError(t, err)
	dir := t.TempDir()
	module := "module example\n\ngo 1.26.0\n\nrequire github.com/livegraph/livegraph/sdk/go v0.0.0\n\n" +
		"replace github.com/livegraph/livegraph/sdk/go => " + sdk + "\n"
	noError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600))
	noError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	command := exec.CommandContext(t.Context(), "go", "run", ".")
	command.Dir = dir
	output, err := command.CombinedOutput()
	check(t, err == nil, "%v\n%s", err, output)
	return string(output)
}

func TestServiceExamplesOfThePages(t *testing.T) {
	service(t)
	for _, page := range []string{"README.md", filepath.Join("..", "..", "docs", "sdks.md")} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			programs, parts := examplesOf(t, page)
			check(t, len(parts) >= 4, "the page has %d examples", len(parts))
			for _, program := range programs {
				check(t, execute(t, program.source) != "", "the program in line %d prints nothing", program.line)
			}
			printed := strings.Split(execute(t, programOf(parts)), "\x00")[1:]
			equal(t, len(parts), len(printed))
			for i, part := range parts {
				mark, output, _ := strings.Cut(printed[i], "\n")
				equal(t, fmt.Sprint(part.line), mark)
				prints := strings.Contains("\n"+part.source, "\nfmt.Print") ||
					strings.Contains(part.source, "\nfor ") && strings.Contains(part.source, "\n\tfmt.Print")
				check(t, output != "" || !prints, "the example in line %d prints nothing", part.line)
			}
		})
	}
}
