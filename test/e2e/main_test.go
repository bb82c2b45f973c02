// Package e2e uses Livegraph as its users do: through the binary, HTTP and signals.
package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/livegraph/livegraph/test/harness"
)

var binary string

func TestMain(m *testing.M) {
	path, remove, err := harness.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// server is a harness server with what these tests ask of it.
type server struct {
	*harness.Server
	t *testing.T
}

func newServer(t *testing.T, args ...string) *server {
	t.Helper()
	return &server{Server: harness.New(t, binary, args...), t: t}
}
