package maintenance_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const partitions = 4

// now is the time of the work under test. Tests write points around it.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixture is an installation without processes that no other test uses.
type fixture struct {
	tb            testing.TB
	broker        *kafkatest.Broker
	log           *kafka.Client
	registry      *stores.DB
	points        *clickhouse.DB
	redis         *redis.DB
	clickhouseURL string
	redisURL      string
	postgresURL   string
	logger        *slog.Logger
	encoder       pointblock.Encoder
	now           time.Time
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	ctx := context.Background()
	w := &fixture{
		tb: tb, broker: kafkatest.NewKFake(tb), clickhouseURL: chtest.Migrated(tb), redisURL: testenv.Redis(tb),
		postgresURL: pgtest.Migrated(tb),
		logger:      slog.New(slog.NewTextHandler(io.Discard, nil)), now: now,
	}
	var err error
	w.registry, err = stores.Open(ctx, w.postgresURL, 8)
	require.NoError(tb, err)
	tb.Cleanup(w.registry.Close)
	require.NoError(tb, w.registry.Migrate(ctx))
	_, err = w.registry.Installation(ctx)
	require.NoError(tb, err)
	w.points, err = chtest.Open(ctx, w.clickhouseURL)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.points.Close() })
	w.redis, err = redis.Open(ctx, redis.Options{URL: w.redisURL})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.redis.Close() })
	w.log, err = kafka.Open(ctx, kafka.Options{
		Brokers: w.broker.Brokers(), Security: w.broker.Security(), TopicPrefix: w.broker.Prefix, BufferedBytes: 64 << 20,
		PointsGroup: w.group(), ProduceTimeout: time.Minute, Log: w.logger,
	})
	require.NoError(tb, err)
	tb.Cleanup(w.log.Close)
	require.NoError(tb, w.log.EnsureTopics(ctx, kafka.TopicSettings{
		Partitions: partitions, CommandsPartitions: partitions, Replication: -1, RetentionBytes: 1 << 30,
	}))
	return w
}

func (w *fixture) group() string { return w.broker.Prefix + "points-test" }

// createWorkspace creates a workspace that keeps points for a number of days (0: permanently).
func (w *fixture) createWorkspace(days int32) uuid.UUID {
	w.tb.Helper()
	created, err := w.registry.CreateWorkspace(context.Background(), access.Workspace{
		Name: "tenant", Plan: "enterprise", Mode: "live", RetentionDays: retentionDays(days)})
	require.NoError(w.tb, err)
	return created.ID
}

func retentionDays(days int32) *int32 {
	if days == 0 {
		return nil
	}
	return &days
}

// createSource creates a source that keeps points for a number of days (0: as its workspace).
func (w *fixture) createSource(workspace uuid.UUID, days int32) uuid.UUID {
	w.tb.Helper()
	id := uuid.New()
	_, err := w.registry.CreateSource(context.Background(), workspace, registry.Source{
		ID: id, Name: id.String(), RetentionDays: retentionDays(days),
	})
	require.NoError(w.tb, err)
	return id
}

// producePoints produces points of a source to the log: numbers of one series and strings of
// another, at the given numbers of days before now.
func (w *fixture) producePoints(workspace, source uuid.UUID, daysAgo ...int) {
	w.tb.Helper()
	ctx := context.Background()
	w.encoder.Reset(workspace, now.UnixMicro())
	for _, kind := range []pointblock.Kind{pointblock.KindNumber, pointblock.KindString} {
		id := pointblock.Identity{Workspace: workspace, Source: source, Metric: "m", Kind: kind}
		fingerprint := id.Fingerprint(&[16]byte{1})
		ids, ok, err := w.registry.RegisterSeries(
			ctx, workspace, []pointblock.Identity{id}, []pointblock.Fingerprint{fingerprint},
		)
		require.NoError(w.tb, err)
		require.True(w.tb, ok[0])
		ref := pointblock.SeriesRef{ID: ids[0], Fingerprint: fingerprint}
		var ts []int64
		var numbers []float64
		var texts []string
		for _, days := range daysAgo {
			ts = append(ts, now.AddDate(0, 0, -days).UnixMicro())
			numbers, texts = append(numbers, float64(days)), append(texts, fmt.Sprint(days))
		}
		if kind == pointblock.KindNumber {
			require.NoError(w.tb, w.encoder.AppendNumbers(ref, &id, ts, numbers))
		} else {
			require.NoError(w.tb, w.encoder.AppendStrings(ref, &id, ts, texts))
		}
	}
	_, err := w.log.ProducePoints(ctx, "req_test", w.encoder.AppendMessages(nil, pointblock.Partition(
		source, w.log.Partitions(),
	)))
	require.NoError(w.tb, err)
}

// consume stores all records of the log.
func (w *fixture) consume() {
	w.tb.Helper()
	c := points.New(points.Deps{
		Log: w.log, Points: w.points, Registry: w.registry, Logger: w.logger,
		Config: points.Config{
			Group: w.group(), BatchRows: 1 << 20, BatchBytes: 32 << 20, BatchWait: 20 * time.Millisecond, FetchBytes: 8 << 20,
		},
	})
	defer testenv.RunInBackground(w.tb, c.Run)()
	require.Eventually(w.tb, func() bool {
		state, err := w.log.Observe(context.Background())
		if err != nil {
			return false
		}
		marks, err := w.registry.Watermarks(context.Background(), state.ID)
		require.NoError(w.tb, err)
		for p, s := range state.State {
			if marks[int32(p)] < s.End {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond)
}

// newRunner creates a Runner with the fixture's clock and stores.
func (w *fixture) newRunner(change ...func(*maintenance.Deps)) *maintenance.Runner {
	deps := maintenance.Deps{
		Registry: w.registry, Points: w.points, Log: w.log, Logger: w.logger,
		Stores: []maintenance.Store{
			{Name: "clickhouse", Eraser: w.points, Forget: w.points.ForgetWorkspace}, {Name: "redis", Eraser: w.redis},
			{Name: "postgres", Eraser: w.registry},
		},
		Config: maintenance.Config{
			RetentionEvery: 50 * time.Millisecond, PruneEvery: 50 * time.Millisecond, EraseEvery: 20 * time.Millisecond,
			DeleteEvery: 20 * time.Millisecond, SettleAfter: 50 * time.Millisecond, SweepAfter: time.Millisecond,
			LeaseFor: 300 * time.Millisecond, Now: func() time.Time { return w.now },
		},
	}
	for _, c := range change {
		c(&deps)
	}
	return maintenance.New(deps)
}

// run runs a Runner until stop or the end of the test.
func (w *fixture) run(u *maintenance.Runner) (stop func()) {
	w.tb.Helper()
	return testenv.RunInBackground(w.tb, u.Run)
}

// execPostgres runs a statement in Postgres without its package.
func (w *fixture) execPostgres(statement string) {
	w.tb.Helper()
	conn, err := pgx.Connect(context.Background(), w.postgresURL)
	require.NoError(w.tb, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(context.Background(), statement)
	require.NoError(w.tb, err)
}

// query runs a statement in ClickHouse without its package.
func (w *fixture) query(statement string) string {
	w.tb.Helper()
	return testenv.QueryClickHouse(w.tb, w.clickhouseURL, statement)
}

// storedAges returns the ages in days of the stored points of a source, numbers and strings.
func (w *fixture) storedAges(source uuid.UUID) string {
	w.tb.Helper()
	return w.query(
		fmt.Sprintf(
			`SELECT arrayStringConcat(arraySort(groupArray(concat(toString(dateDiff('day', ts, toDateTime64('%s', 6, 'UTC'))),
				kind))), ' ') FROM (
		SELECT ts, 'n' AS kind FROM points FINAL WHERE series IN (SELECT id FROM series WHERE source = '%[2]s')
		UNION ALL SELECT ts, 's' FROM states FINAL WHERE series IN (SELECT id FROM series WHERE source = '%[2]s')
		UNION ALL SELECT ts, 'l' FROM latest FINAL WHERE source = '%[2]s')`, now.Format(time.DateTime), source,
		),
	)
}

// dump returns the rows of a workspace in all stores.
func (w *fixture) dump(workspace uuid.UUID) string {
	w.tb.Helper()
	var all strings.Builder
	for _, statement := range []string{
		"SELECT series, ts, value, version FROM points FINAL " +
			"WHERE series IN (SELECT id FROM series WHERE workspace = '%s') ORDER BY series, ts",
		"SELECT series, ts, value, version FROM states FINAL " +
			"WHERE series IN (SELECT id FROM series WHERE workspace = '%s') ORDER BY series, ts",
		"SELECT * FROM latest FINAL WHERE workspace = '%s' ORDER BY series",
		"SELECT * FROM source_activity FINAL WHERE workspace = '%s' ORDER BY source",
		"SELECT * FROM series FINAL WHERE workspace = '%s' ORDER BY id",
	} {
		all.WriteString(w.query(fmt.Sprintf(statement, workspace)) + "\n")
	}
	rows, err := w.registry.WorkspaceRows(context.Background(), workspace)
	require.NoError(w.tb, err)
	keys, err := w.redis.WorkspaceRows(context.Background(), workspace)
	require.NoError(w.tb, err)
	return strings.TrimSpace(all.String()) + fmt.Sprintf(" %d rows, %d keys", rows, keys)
}
