package points_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	partitions = 4
	t0         = int64(1_795_246_810_000_000) // 2026-11-21T07:40:10Z in microseconds
	second     = int64(1_000_000)
)

// fixture is a log, a registry and a store that no other test uses, and one workspace.
type fixture struct {
	tb            testing.TB
	broker        *kafkatest.Broker
	topic         string // the full name of topic points
	group         string
	log           *kafka.Client
	registry      *stores.DB
	points        *clickhouse.DB
	clickhouseURL string
	postgresURL   string
	config        points.Config
	workspace     uuid.UUID
	webhook       hooks.Webhook // of dead letters, if the fixture has some
	encoder       pointblock.Encoder
	logger        *slog.Logger
	// settleAfter is the age at which a deletion is executed for the last time; 0: the default.
	settleAfter     time.Duration
	maintenanceRuns bool
}

// newFixture creates a fixture on a broker, with a new store and a new registry.
func newFixture(tb testing.TB, broker *kafkatest.Broker) *fixture {
	tb.Helper()
	return newFixtureOn(tb, broker, chtest.Migrated(tb), pgtest.Migrated(tb))
}

func newFixtureOn(tb testing.TB, broker *kafkatest.Broker, store, registry string) *fixture {
	tb.Helper()
	ctx := context.Background()
	w := &fixture{
		tb: tb, broker: broker, topic: broker.Prefix + "points", group: broker.Prefix + "points-test",
		clickhouseURL: store, postgresURL: registry, workspace: uuid.New(),
		logger: testenv.Logger(),
	}
	w.config = points.Config{
		Group: w.group, BatchRows: 1_000_000, BatchBytes: 32 << 20, BatchWait: 20 * time.Millisecond, FetchBytes: 8 << 20,
		Rollups: true,
	}
	var err error
	w.registry, err = stores.Open(ctx, registry, 8)
	require.NoError(tb, err)
	tb.Cleanup(w.registry.Close)
	require.NoError(tb, w.registry.Migrate(ctx))
	w.points, err = chtest.Open(ctx, store)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.points.Close() })
	require.NoError(tb, w.points.Migrate(ctx))
	w.log = w.client()
	return w
}

// client creates a client of the log, as a separate process would.
func (w *fixture) client() *kafka.Client {
	w.tb.Helper()
	var c *kafka.Client
	c, err := kafka.Open(context.Background(), kafka.Options{
		Brokers: w.broker.Brokers(), Security: w.broker.Security(), TopicPrefix: w.broker.Prefix, BufferedBytes: 128 << 20,
		PointsGroup: w.group, ProduceTimeout: time.Minute, Log: w.logger,
		OnTopicChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return points.ResolveGenerations(ctx, c, w.registry, w.logger)
		},
	})
	require.NoError(w.tb, err)
	w.tb.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	require.NoError(w.tb, c.EnsureTopics(ctx, kafka.TopicSettings{
		Partitions: partitions, Replication: -1, RetentionBytes: 1 << 30,
	}))
	return c
}

// runningConsumer is a consumer whose Run has been started.
type runningConsumer struct {
	*points.Consumer
	cancel context.CancelFunc
	done   chan error
}

// consume runs a consumer until stop or the end of the test, and maintenance until the end
// of the test.
func (w *fixture) consume() *runningConsumer {
	w.tb.Helper()
	w.runMaintenance()
	return w.run(newConsumer(w))
}

// runMaintenance runs the maintenance consumer, which deletes points, until the end of the
// test.
func (w *fixture) runMaintenance() {
	w.tb.Helper()
	if w.maintenanceRuns {
		return
	}
	w.maintenanceRuns = true
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	work := maintenance.New(maintenance.Deps{
		Registry: w.registry, Points: w.points, Log: w.log, Logger: w.logger,
		Config: maintenance.Config{DeleteEvery: 10 * time.Millisecond, SettleAfter: w.settleAfter},
	})
	go func() { done <- work.Run(ctx) }()
	w.tb.Cleanup(func() {
		cancel()
		require.NoError(w.tb, <-done)
	})
}

// ageDeletions makes all deletions an hour older.
func (w *fixture) ageDeletions() {
	w.tb.Helper()
	conn, err := pgx.Connect(context.Background(), w.postgresURL)
	require.NoError(w.tb, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(context.Background(), `UPDATE tombstones SET pending_since = pending_since - interval '1 hour'`)
	require.NoError(w.tb, err)
}

// waitExecuted waits until every deletion was executed once.
func (w *fixture) waitExecuted() {
	w.tb.Helper()
	require.Eventually(w.tb, func() bool {
		waiting, _, err := w.registry.UnexecutedDeletions(context.Background())
		return err == nil && waiting == 0
	}, time.Minute, 5*time.Millisecond)
}

func newConsumer(w *fixture) *points.Consumer {
	return points.New(points.Deps{
		Log: w.log, Points: w.points, Registry: w.registry, Config: w.config, Logger: w.logger,
	})
}

func (w *fixture) run(c *points.Consumer) *runningConsumer {
	w.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &runningConsumer{Consumer: c, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- r.Run(ctx) }()
	w.tb.Cleanup(func() { r.stop(w.tb) })
	return r
}

func (r *runningConsumer) stop(tb testing.TB) {
	tb.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		require.NoError(tb, err)
		r.done <- nil
	case <-time.After(20 * time.Second):
		tb.Error("the consumer does not stop")
	}
}

// series is a series of numbers or strings that a test writes to.
type series struct {
	source uuid.UUID
	metric string
	kind   pointblock.Kind
	tags   []pointblock.Tag
}

func (w *fixture) numberSeries(source uuid.UUID, metric string) series {
	return series{
		source: source, metric: metric, kind: pointblock.KindNumber, tags: []pointblock.Tag{{Key: "room", Value: "a"}},
	}
}

func (s series) identity(w *fixture) *pointblock.Identity {
	return &pointblock.Identity{Workspace: w.workspace, Source: s.source, Metric: s.metric, Tags: s.tags, Kind: s.kind}
}

func (s series) ref(w *fixture) pointblock.SeriesRef {
	f := s.identity(w).Fingerprint(&[16]byte{1})
	return pointblock.SeriesRef{ID: f.SeriesID(), Fingerprint: f}
}

// numberMessages returns the messages of one request with numbers of one series.
func (w *fixture) numberMessages(s series, ts []int64, values []float64) []pointblock.Message {
	w.tb.Helper()
	w.encoder.Reset(w.workspace, t0)
	require.NoError(w.tb, w.encoder.AppendNumbers(s.ref(w), s.identity(w), ts, values))
	return w.encodedMessages(s.source)
}

func (w *fixture) stringMessages(s series, ts []int64, values []string) []pointblock.Message {
	w.tb.Helper()
	w.encoder.Reset(w.workspace, t0)
	require.NoError(w.tb, w.encoder.AppendStrings(s.ref(w), s.identity(w), ts, values))
	return w.encodedMessages(s.source)
}

// encodedMessages returns copies of the encoder's messages.
func (w *fixture) encodedMessages(source uuid.UUID) []pointblock.Message {
	messages := w.encoder.AppendMessages(nil, pointblock.Partition(source, w.log.Partitions()))
	for i := range messages {
		messages[i].Value = append([]byte(nil), messages[i].Value...)
		messages[i].Key = append([]byte(nil), messages[i].Key...)
	}
	return messages
}

func (w *fixture) deletionMessages(d pointblock.Deletion) []pointblock.Message {
	return []pointblock.Message{{
		Partition: pointblock.Partition(d.Source, w.log.Partitions()), Key: d.Source[:],
		Value: pointblock.EncodeDeletions(w.workspace, t0, []pointblock.Deletion{d}),
	}}
}

// produce sends messages and returns their positions. It first waits until the log counts as
// healthy: on a busy machine the client may take it for unavailable for a moment, and would
// refuse the messages.
func (w *fixture) produce(messages ...[]pointblock.Message) []pointblock.Position {
	w.tb.Helper()
	require.Eventually(w.tb, w.log.Healthy, time.Minute, 20*time.Millisecond, "the log is not available")
	var all []pointblock.Position
	for _, m := range messages {
		positions, err := w.log.ProducePoints(context.Background(), "req_test", m)
		require.NoError(w.tb, err)
		all = append(all, positions...)
	}
	return all
}

// waitSettled waits until the watermarks have passed the end of every partition and every
// deletion was executed.
func (w *fixture) waitSettled() {
	w.tb.Helper()
	w.waitConsumedWithin(time.Minute)
	w.waitExecuted()
}

func (w *fixture) waitConsumedWithin(limit time.Duration) {
	w.tb.Helper()
	ctx := context.Background()
	var state kafka.TopicState
	var marks map[int32]int64
	deadline := time.Now().Add(limit)
	for {
		var err error
		if state, err = w.log.Observe(ctx); err == nil {
			marks, err = w.registry.Watermarks(ctx, state.ID)
			require.NoError(w.tb, err)
			reached := true
			for p, s := range state.State {
				reached = reached && (marks[int32(p)] >= s.End || s.End == 0)
			}
			if reached {
				return
			}
		}
		if time.Now().After(deadline) {
			w.tb.Fatalf("not all is visible in time: log %+v, watermarks %v", state.State, marks)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// query runs a statement without package clickhouse.
func (w *fixture) query(statement string) string {
	w.tb.Helper()
	return testenv.QueryClickHouse(w.tb, w.clickhouseURL, statement)
}

// dump returns the live rows of every table in a fixed order.
func (w *fixture) dump() string {
	w.tb.Helper()
	var all strings.Builder
	for _, statement := range []string{
		"SELECT 'point', series, ts, value, version FROM points FINAL ORDER BY series, ts",
		"SELECT 'state', series, ts, value, version FROM states FINAL ORDER BY series, ts",
		"SELECT 'exemplar', series, ts, labels, value, version FROM exemplars FINAL ORDER BY series, ts, labels",
		"SELECT 'latest', workspace, source, series, ts, value, text, version FROM latest FINAL ORDER BY workspace, " +
			"source, series",
		"SELECT 'active', workspace, source, received_at FROM source_activity FINAL ORDER BY workspace, source",
		"SELECT 'series', id, workspace, source, metric, tags, kind FROM series FINAL ORDER BY id",
	} {
		all.WriteString(w.query(statement) + "\n")
	}
	return all.String()
}

// values returns a series' points as "seconds since t0=value", by time.
func (w *fixture) values(s series) string {
	w.tb.Helper()
	return w.query(
		fmt.Sprintf(
			"SELECT arrayStringConcat(groupArray(concat(toString(intDiv(toUnixTimestamp64Micro(ts)-%d, 1000000)), '=', "+
				"toString(value))), ' ')"+
				" FROM (SELECT ts, value FROM points FINAL WHERE series = %d ORDER BY ts)", t0, s.ref(w).ID,
		),
	)
}

// latest returns the row of table latest of a series.
func (w *fixture) latest(s series) string {
	w.tb.Helper()
	return w.query(fmt.Sprintf(
		"SELECT intDiv(toUnixTimestamp64Micro(ts)-%d, 1000000), value, text FROM latest FINAL WHERE series = %d", t0,
		s.ref(w).ID,
	))
}

// times converts seconds since t0 to times.
func times(seconds ...int64) []int64 {
	ts := make([]int64, len(seconds))
	for i, s := range seconds {
		ts[i] = t0 + s*second
	}
	return ts
}

// rewind resets the offsets of the group, which must have no members, to the start of the
// log.
func (w *fixture) rewind() {
	w.tb.Helper()
	for p := range int32(partitions) {
		w.commit(p, 0)
	}
}

// commit commits an offset for the group, which must have no members.
func (w *fixture) commit(partition int32, offset int64) {
	w.tb.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(w.topic, partition, offset, -1)
	admin := w.broker.Admin(w.tb)
	require.Eventually(w.tb, func() bool {
		answer, err := admin.CommitOffsets(context.Background(), w.group, offsets)
		return err == nil && answer.Ok()
	}, time.Minute, 50*time.Millisecond)
}
