// Command livegraph is the whole service: the server with its roles, and the tools of its
// operators.
package main

import (
	"os"

	"github.com/livegraph/livegraph/internal/app/cli"
)

// version is set when the binary is linked.
var version = "dev"

func main() { os.Exit(cli.Main(version, os.Args[1:], os.Stdout, os.Stderr)) }
