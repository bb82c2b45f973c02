package testenv

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/test/engines/milvusstandalone"
)

// milvusEdition is the environment variable that selects the edition of Milvus: lite, the
// embedded one and the default, or standalone, which is closer to production and slower
// (make test-milvus).
const milvusEdition = "LIVEGRAPH_TEST_MILVUS"

const (
	milvusLiteName       = "milvus"
	milvusStandaloneName = "milvus-standalone"
)

// MilvusStandalone reports whether tests run on Milvus standalone.
func MilvusStandalone() bool { return os.Getenv(milvusEdition) == "standalone" }

// milvusStarter returns the name and the start function of the edition.
func milvusStarter() (string, func(context.Context, engine.Options) (*supervisor.Process, error)) {
	if MilvusStandalone() {
		return milvusStandaloneName, milvusstandalone.Start
	}
	return milvusLiteName, embedded.StartMilvus
}

var milvus = sync.OnceValues(func() (*supervisor.Process, error) {
	name, start := milvusStarter()
	return starter(name, start)()
})

// Milvus returns the address, host:port, of a server that the binary's tests share. Each
// test must use unique collection names.
func Milvus(t testing.TB) string {
	t.Helper()
	return started(t, milvus).Address()
}

// StoppableMilvus returns a server only for this test, which may Stop, Start and Signal it.
// It keeps its address and data.
func StoppableMilvus(t testing.TB) *supervisor.Process {
	t.Helper()
	name, start := milvusStarter()
	return stoppable(t, name, start)
}
