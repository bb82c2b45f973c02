// Package web holds the built files of the administration page, whose sources are
// beside it. `make build` makes them before the binary is compiled; a binary that was
// compiled without has none, and its page reports it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var files embed.FS

// Dist returns the page's files: index.html and what it loads. Without a build it is empty
// except for .keep.
func Dist() (fs.FS, error) { return fs.Sub(files, "dist") }
