package cli

import (
	_ "embed"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/livegraph/livegraph/internal/app/output"
)

// notices contains the licence texts of everything in the binary; `make notices` writes them.
//
//go:embed notices.txt
var notices string

// buildVersion is the version that the binary was linked with.
type buildVersion string

// VersionCmd prints the version.
type VersionCmd struct {
	JSON    bool `help:"Print JSON." xor:"form"`
	Notices bool `help:"Print the licences of everything in the binary." xor:"form"`
}

// Run prints the version, and the Go version that built it.
func (c *VersionCmd) Run(out *output.Writer, version buildVersion) error {
	if c.Notices {
		_, err := io.WriteString(out, notices)
		return err
	}
	goVersion := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	if c.JSON {
		return output.JSON(out, map[string]string{"version": string(version), "go": goVersion})
	}
	_, err := fmt.Fprintf(out, "livegraph %s (%s)\n", version, goVersion)
	return err
}
