// Command report writes tables of the recorded chaos runs into docs/reliability.md, between two
// markers.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/livegraph/livegraph/test/chaos/report/table"
)

func main() {
	runs := flag.String("runs", "test/chaos/runs", "folder of the runs' logs")
	page := flag.String("page", "docs/reliability.md", "page to write to")
	flag.Parse()
	if err := write(*runs, *page); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func write(runs, page string) error {
	text, err := table.Build(os.DirFS(runs))
	if err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	updated, err := table.Insert(string(old), text)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(updated), 0o644)
}
