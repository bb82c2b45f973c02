package bench

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/harness"
)

// BenchmarkStarts measures the time until the service is ready: the first start in an empty directory
// (with installed packages), a start with 1 GB in the log, and each engine alone.
func BenchmarkStarts(b *testing.B) {
	const rounds, records, size = 3, 10_000, 100_000
	r := record.New(b)
	var t *target
	r.Logf("%d first starts", rounds)
	for range rounds {
		if t != nil {
			require.Zero(b, t.Stop())
		}
		t = &target{Server: harness.New(b, binary), b: b}
		r.Add("first", "s", t.timeStart())
	}
	r.Engines(t.engines())
	t.fillLog(records, size)
	r.Logf("%d starts with a log of 1 GB", rounds)
	for range rounds {
		began := time.Now()
		require.Zero(b, t.Stop())
		r.Add("stop", "s", time.Since(began).Seconds())
		r.Add("second", "s", t.timeStart())
	}
	require.Zero(b, t.Stop())
	startEngines(b, r, rounds)
	r.Save()
}

// timeStart starts the server and returns the seconds until it is ready.
func (t *target) timeStart() float64 {
	began := time.Now()
	t.Start()
	return time.Since(began).Seconds()
}

// fillLog writes records to a topic without consumers.
func (t *target) fillLog(records, size int) {
	t.b.Helper()
	client, err := kgo.NewClient(t.Kafka().Opts()...)
	require.NoError(t.b, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(t.b.Context(), 8, 1, nil, "ballast")
	require.NoError(t.b, err)
	payload := make([]byte, size)
	for range records {
		client.Produce(t.b.Context(), &kgo.Record{Topic: "ballast", Value: payload}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.b.Error(err)
			}
		})
	}
	require.NoError(t.b, client.Flush(t.b.Context()))
}

// stopper is a started engine.
type stopper interface {
	Stop(ctx context.Context) error
}

// startEngines starts each engine alone, first in an empty directory and then again.
func startEngines(b *testing.B, r *record.Recorder, rounds int) {
	b.Helper()
	packages, err := embedded.Install(b.Context(), nil)
	require.NoError(b, err)
	engines := map[string]func(context.Context, engine.Options) (stopper, error){
		"clickhouse": func(ctx context.Context, o engine.Options) (stopper, error) {
			return embedded.StartClickHouse(ctx, o)
		},
		"valkey": func(ctx context.Context, o engine.Options) (stopper, error) {
			return embedded.StartValkey(ctx, o)
		},
		"milvus": func(ctx context.Context, o engine.Options) (stopper, error) {
			return embedded.StartMilvus(ctx, o)
		},
		"postgres": func(ctx context.Context, o engine.Options) (stopper, error) {
			return embedded.StartPostgres(ctx, embedded.PostgresOptions{Options: o})
		},
		"kafka": func(ctx context.Context, o engine.Options) (stopper, error) {
			return embedded.StartKafka(ctx, embedded.KafkaOptions{Options: o})
		},
	}
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		r.Logf("%d first and second starts of %s alone", rounds, name)
		for range rounds {
			o := engine.Options{
				Dir: filepath.Join(b.TempDir(), name), Packages: packages, Logger: slog.New(slog.DiscardHandler),
			}
			for _, round := range []string{"/first", "/second"} {
				began := time.Now()
				running, err := engines[name](b.Context(), o)
				require.NoError(b, err)
				r.Add(name+round, "s", time.Since(began).Seconds())
				require.NoError(b, running.Stop(b.Context()))
			}
		}
	}
}
