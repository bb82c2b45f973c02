package testenv

import (
	"log/slog"
	"os"
)

// Logger returns the logger of the code under test. It writes to stderr if LIVEGRAPH_TEST_LOG is set,
// and nowhere otherwise.
func Logger() *slog.Logger {
	if os.Getenv("LIVEGRAPH_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}
