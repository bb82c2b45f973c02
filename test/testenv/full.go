package testenv

import (
	"flag"
	"os"
	"testing"
	"time"
)

// suite is the environment variable that selects the tests: "all" runs everything (make
// test-all), any other value runs the tests of make test.
const suite = "LIVEGRAPH_TEST"

// brokerOutage is the environment variable with the result of BrokerOutage, such as 5m.
const brokerOutage = "LIVEGRAPH_TEST_BROKER_OUTAGE"

// defaultBrokerOutage is longer than brokers wait until they replace one of them as leader.
const defaultBrokerOutage = 20 * time.Second

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

// ReduceCases lets rapid check each property of a package with fewer cases in make test, because a case of a property
// of a system takes up to a third of a second. The package imports rapid and calls it in TestMain.
func ReduceCases() {
	if err := flag.Set("rapid.checks", InFull("100", "30")); err != nil {
		panic(err)
	}
}

// RequireFull skips the test unless all tests run, as in make test-all.
func RequireFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("runs with " + suite + "=all, as make test-all does")
	}
}

// BrokerOutage returns how long a broker that a test suspends does not respond.
func BrokerOutage(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv(brokerOutage)
	if text == "" {
		return defaultBrokerOutage
	}
	outage, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("testenv: %s: %v", brokerOutage, err)
	}
	return outage
}
