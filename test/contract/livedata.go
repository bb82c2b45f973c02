package contract

import (
	"cmp"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/deleted"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/rules"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/ingest/described"
	"github.com/livegraph/livegraph/ingest/routing"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// LiveData is the group of live-data routes, with its stores. A test may set fields
// before it starts the server; Group creates the stores that are nil.
type LiveData struct {
	Points *clickhouse.DB
	Log    *kafka.Client
	Limits tail.Limits // of streams
	// MaxSamples is the maximum number of samples of a query in PromQL; 0: 200,000.
	MaxSamples int
	// Streams is the hub of the streams, set by Group.
	Streams *tail.Hub
	// Change, when set, changes the dependencies of the routes.
	Change func(*livedata.Deps)
}

// Group creates the routes. It starts no consumer: ingested points stay in the log.
func (l *LiveData) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	if l.Points == nil {
		store, err := chtest.Open(t.Context(), chtest.Migrated(t))
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		l.Points = store
	}
	if l.Log == nil {
		l.Log = OpenLog(t, kafkatest.NewKFake(t))
	}
	installation, err := s.DB.Installation(t.Context())
	require.NoError(t, err)
	require.NoError(t, points.ResolveGenerations(t.Context(), l.Log, s.DB, slog.Default()))
	routes := routing.New(routing.Deps{Leases: s.DB, Topic: points.Topic, Seen: func() ([16]byte, int32) {
		topic := l.Log.PointsTopic()
		return topic.ID, topic.Partitions
	}})
	background(t, routes.Run)
	deletions := livedata.NewDeletionSender(s.DB, l.Log, routes)
	background(t, deletions.Run)
	l.Streams = tail.NewHub(tail.Deps{Log: l.Log, Sources: s.DB, Routes: s.DB, Limits: l.Limits})
	background(t, l.Streams.Run)
	metadata := described.New(s.DB, slog.Default())
	background(t, metadata.Run)
	deps := livedata.Deps{
		Sources: s.DB, Series: s.DB, Points: timeseries.New(l.Points), Watermarks: s.DB,
		DeadRecords: s.DB, Deletions: deletions, Streams: l.Streams,
		Keys: idempotency.New(s.DB, slog.Default(), nil),
		Pipeline: ingest.New(ingest.Deps{
			Sources: s.DB, Registry: s.DB, Retention: s.DB, Log: l.Log, Routes: routes,
			FingerprintKey: installation.FingerprintKey, Metadata: metadata,
		}),
		TopicID:  func() [16]byte { return l.Log.PointsTopic().ID },
		TokenKey: installation.CheckpointKey, Bodies: request.NewBudget(256 << 20), MaxBodyBytes: 32 << 20,
		QueryTimeout: 10 * time.Second, CheckpointWait: time.Second,
	}
	if l.Change != nil {
		l.Change(&deps)
	}
	maxSamples := cmp.Or(l.MaxSamples, 200_000)
	return slices.Concat(livedata.Routes(deps), rules.Routes(rules.Deps{
		Store: s.DB, MinInterval: 5 * time.Second, CheckURL: outbound.New(nil).CheckURL,
	}), promql.Routes(promql.Deps{
		Store: promstore.New(promstore.Deps{
			Series: s.DB, Points: timeseries.New(l.Points), Exclusions: deleted.From(s.DB),
			MaxSeries: 1000, MaxSamples: maxSamples, MaxTotalSamples: 1_000_000,
		}),
		Metadata: s.DB, Rules: s.DB, Version: "test", MaxSamples: maxSamples, QueryTimeout: deps.QueryTimeout,
	}))
}

// OpenLog opens the log of a broker, and creates topics with four partitions.
func OpenLog(t testing.TB, broker *kafkatest.Broker) *kafka.Client {
	t.Helper()
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), BufferedBytes: 64 << 20,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 4, CommandsPartitions: 4, Replication: -1, RetentionBytes: 256 << 20,
	}))
	return log
}
