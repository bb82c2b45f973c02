package kafkatest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/livegraph/livegraph/test/engines/jars"
	"github.com/livegraph/livegraph/test/testenv"
)

// requireApache returns the jars of Apache Kafka. If they cannot be installed, it skips the
// test and reports it as not run; with CI=true it fails the test.
func requireApache(t testing.TB) *jars.Installation {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Apache Kafka")
	}
	testenv.RequireFull(t)
	installed, err := apachePackages()
	if err == nil {
		return installed
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("kafkatest: this test was to run on Apache Kafka too: %v", err)
	}
	reportNotRunOnApache()
	t.Skipf("not run on Apache Kafka: %v", err)
	return nil
}

// reportNotRunOnApache reports once per binary that tests did not run on Apache Kafka.
var reportNotRunOnApache = sync.OnceFunc(func() {
	_, reason := apachePackages()
	testenv.ReportNotRun(fmt.Sprintf(
		"NOT RUN: the tests of %s on Apache Kafka (%v). They ran on kfake alone.\n", testenv.BinaryName(), reason,
	))
})
