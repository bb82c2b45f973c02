package testenv

import (
	"os"
	"testing"
)

// suite names which tests run: "all" is everything (make test-all), anything else is what
// make test runs.
const suite = "LIVEGRAPH_TEST"

// Full reports whether everything is to be tested: on Apache Kafka as well, with the clients
// and servers of other projects, and in the long forms.
func Full() bool { return os.Getenv(suite) == "all" }

// RequireFull skips a test that only make test-all runs.
func RequireFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("runs with " + suite + "=all, as make test-all does")
	}
}
