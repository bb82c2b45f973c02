package contract

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/admin/pipeline"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// Pipeline is the group of the routes with which operators manage the pipeline and the
// indexes, with a running points consumer.
type Pipeline struct {
	Points        *clickhouse.DB    // set by Group
	ClickHouseURL string            // its URL
	Log           *kafka.Client     // set by Group
	Kafka         *kafkatest.Broker // broker of Log
	// Change, when set, changes the dependencies of the routes.
	Change func(*pipeline.Deps)
}

// Group creates the routes. It must run before the group of live data, which uses its
// Points and Log.
func (d *Pipeline) Group(t testing.TB, s *Server) []route.Route {
	t.Helper()
	var err error
	d.ClickHouseURL = chtest.Migrated(t)
	d.Points, err = chtest.Open(t.Context(), d.ClickHouseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Points.Close() })
	const group = "desk-points"
	d.Kafka = kafkatest.NewKFake(t)
	d.Log, err = kafka.Open(t.Context(), kafka.Options{
		Brokers: d.Kafka.Brokers(), Security: d.Kafka.Security(), BufferedBytes: 64 << 20, PointsGroup: group,
		EventsGroups: []string{"desk-lexical", "desk-embeddings"},
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return points.ResolveGenerations(ctx, d.Log, s.DB, slog.Default())
		},
	})
	require.NoError(t, err)
	t.Cleanup(d.Log.Close)
	require.NoError(t, d.Log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 4, CommandsPartitions: 4, Replication: -1, RetentionBytes: 256 << 20,
	}))
	background(t, points.New(points.Deps{
		Log: d.Log, Points: d.Points, Registry: s.DB, Logger: slog.Default(),
		Config: points.Config{
			Group: group, BatchRows: 100_000, BatchBytes: 32 << 20, BatchWait: 20 * time.Millisecond, FetchBytes: 8 << 20,
			Grace: time.Second, Rollups: true,
		},
	}).Run)
	installation, err := s.DB.Installation(t.Context())
	require.NoError(t, err)
	deps := pipeline.Deps{
		Pipeline: pipelineadmin.New(d.Log, s.DB), Index: s.DB, TokenKey: installation.CheckpointKey,
		QueryTimeout: 30 * time.Second,
	}
	if d.Change != nil {
		d.Change(&deps)
	}
	return pipeline.Routes(deps)
}
