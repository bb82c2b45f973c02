package testenv

import (
	"os"
	"testing"
)

// suite is the environment variable that selects the tests: "all" runs everything (make
// test-all), any other value runs the tests of make test.
const suite = "LIVEGRAPH_TEST"

// Full reports whether all tests run: also on Apache Kafka, with the clients and servers of
// other projects, and in their long variants.
func Full() bool { return os.Getenv(suite) == "all" }

// InFull returns the length of a test: full in make test-all, and short in make test.
func InFull[T any](full, short T) T {
	if Full() {
		return full
	}
	return short
}

// RequireFull skips the test unless all tests run, as in make test-all.
func RequireFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("runs with " + suite + "=all, as make test-all does")
	}
}
