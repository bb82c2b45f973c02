package contract_test

import (
	"flag"
	"log/slog"
	"os"
	"testing"

	"github.com/livegraph/livegraph/test/testenv"
)

// TestMain keeps the access log out of the tests' output, except for -v.
func TestMain(m *testing.M) {
	testenv.ReduceCases()
	flag.Parse()
	if !testing.Verbose() {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}
