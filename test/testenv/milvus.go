package testenv

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/livegraph/livegraph/internal/embedded"
)

// milvusEdition names the edition of Milvus that tests get: lite, which is the
// embedded one and the default, or standalone, which is closer to production and
// takes longer (make test-milvus).
const milvusEdition = "LIVEGRAPH_TEST_MILVUS"

const (
	milvusLiteName       = "milvus"
	milvusStandaloneName = "milvus-standalone"
)

// MilvusStandalone reports whether tests run on Milvus standalone.
func MilvusStandalone() bool { return os.Getenv(milvusEdition) == "standalone" }

// milvusStarter returns the name and the start of the edition.
func milvusStarter() (string, func(context.Context, embedded.EngineOptions) (*embedded.Process, error)) {
	if MilvusStandalone() {
		return milvusStandaloneName, embedded.StartMilvusStandalone
	}
	return milvusLiteName, embedded.StartMilvus
}

var milvus = sync.OnceValues(func() (*embedded.Process, error) {
	name, start := milvusStarter()
	return starter(name, start)()
})

// Milvus returns the address, host:port, of a server that the binary's tests share:
// choose collection names of your own.
func Milvus(t testing.TB) string {
	t.Helper()
	return started(t, milvus).Address()
}

// StoppableMilvus returns a server of the test's own, which it may Stop, Start and
// Signal: address and data stay.
func StoppableMilvus(t testing.TB) *embedded.Process {
	t.Helper()
	name, start := milvusStarter()
	return stoppable(t, name, start)
}
