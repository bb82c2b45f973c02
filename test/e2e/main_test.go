// Package e2e uses Livegraph as its users do: through the binary, HTTP and signals.
package e2e

import (
	"testing"

	"github.com/livegraph/livegraph/test/harness"
)

var binary string

func TestMain(m *testing.M) { harness.Main(m, &binary) }

// server is a harness server with the helpers of these tests.
type server struct {
	*harness.Server
	t *testing.T
}

func newServer(t *testing.T, args ...string) *server {
	t.Helper()
	return &server{Server: harness.New(t, binary, args...), t: t}
}
