package testenv

import (
	"context"
	"testing"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// StoppableClickHouse returns a server only for this test, which may Stop, Start and Signal
// it. It keeps its address and data.
func StoppableClickHouse(t testing.TB) *supervisor.Process {
	t.Helper()
	return stoppable(t, "clickhouse", startClickHouse)
}

// StoppablePostgres is StoppableClickHouse for Postgres.
func StoppablePostgres(t testing.TB) *supervisor.Process {
	t.Helper()
	return stoppable(t, postgresName, startPostgres)
}

// StoppableRedis is StoppableClickHouse for Valkey.
func StoppableRedis(t testing.TB) *supervisor.Process {
	t.Helper()
	return stoppable(t, "valkey", embedded.StartValkey)
}

// StoppableEmbedder is StoppableClickHouse for the embedder.
func StoppableEmbedder(t testing.TB) *supervisor.Process {
	t.Helper()
	return stoppable(t, embedderName, startEmbedder)
}

// DefaultEmbedder starts an embedder with default settings, on all cores, and returns its URL.
func DefaultEmbedder(t testing.TB) string {
	t.Helper()
	return stoppable(t, embedderName, func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
		return embedded.StartEmbedder(ctx, embedded.EmbedderOptions{Options: o})
	}).Address()
}

func stoppable(
	t testing.TB, name string, start func(context.Context, engine.Options) (*supervisor.Process, error),
) *supervisor.Process {
	t.Helper()
	RequireEngines(t)
	o, err := options(name, t.TempDir())
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return StartForTest(t, o, start)
}

// StartForTest starts a server and stops it at the end of the test.
func StartForTest[O any, S interface{ Stop(context.Context) error }](
	t testing.TB, o O, start func(context.Context, O) (S, error),
) S {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	server, err := start(ctx, o)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), DropTimeout)
		defer cancel()
		_ = server.Stop(ctx)
	})
	return server
}
