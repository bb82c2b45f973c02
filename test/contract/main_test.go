package contract_test

import (
	"flag"
	"log/slog"
	"os"
	"testing"

	"github.com/livegraph/livegraph/test/testenv"
)

// TestMain keeps the access log out of the tests' output, except for -v. A property of the service is
// checked less often than one of a function, because a check takes a third of a second.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", testenv.InFull("100", "30")); err != nil {
		panic(err)
	}
	flag.Parse()
	if !testing.Verbose() {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}
