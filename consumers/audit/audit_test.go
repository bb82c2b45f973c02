package audit_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers/audit"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
)

const limit = 60 * time.Second

type world struct {
	t      *testing.T
	broker *testenv.Broker
	log    *kafka.Client
	store  *auditlog.Store
	deps   audit.Deps
}

func newWorld(t *testing.T) *world {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	group := "audit-" + uuid.NewString()
	broker := testenv.NewKFake(t)
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), BufferedBytes: 1 << 20, AuditGroup: group, Log: logger,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: 2, Replication: -1, RetentionBytes: 64 << 20,
	}))
	store, err := clickhouse.Open(t.Context(), testenv.ClickHouse(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	require.NoError(t, store.Migrate(t.Context()))
	registry, err := stores.Open(t.Context(), testenv.MigratedPostgres(t), 4)
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	require.NoError(t, registry.Migrate(t.Context()))
	return &world{t: t, broker: broker, log: log, store: auditlog.New(store), deps: audit.Deps{
		Log: log, Records: auditlog.New(store), Marks: registry, Logger: logger,
		Config: audit.Config{Group: group, BatchWait: 10 * time.Millisecond, Retention: 30 * 24 * time.Hour},
	}}
}

// run runs a consumer; stop ends it.
func (w *world) run() (c *audit.Consumer, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c = audit.New(w.deps)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return c, func() {
		cancel()
		require.NoError(w.t, <-done)
	}
}

func (w *world) produce(records ...[]byte) {
	w.t.Helper()
	var out []kafka.Record
	for _, r := range records {
		out = append(out, kafka.Record{Value: r, RequestID: "req_1"})
	}
	require.NoError(w.t, w.log.ProduceAudit(w.t.Context(), out))
}

func encoded(t *testing.T, r auditrecord.Record) []byte {
	t.Helper()
	out, err := auditrecord.Encode(&r)
	require.NoError(t, err)
	return out
}

// shown waits until so many uses are shown, and gives them.
func (w *world) shown(n int) []auditrecord.Record {
	w.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		found, err := w.store.Audit(w.t.Context(), auditlog.Filter{}, nil, 0, 1000)
		require.NoError(w.t, err)
		if len(found) == n {
			return found
		}
		require.True(w.t, time.Now().Before(deadline), "%d are shown, not %d", len(found), n)
	}
}

func TestAUseIsShownOnceHoweverOftenItComes(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	use := auditrecord.Record{
		RequestID: "req_1", At: now, Key: uuid.New(), Workspace: uuid.New(), Method: "GET", Route: "/api/me", Status: 200,
		IP: netip.MustParseAddr("2001:db8::1"), UserAgent: "curl", Duration: 1500 * time.Microsecond, BytesIn: 1, BytesOut: 2,
		Requests: 1,
	}
	final, other := use, use
	final.Final, final.Duration, final.BytesOut = true, time.Second, 99
	other.RequestID, other.Key, other.Workspace, other.IP = "req_2", uuid.Nil, uuid.Nil, netip.Addr{}
	_, stop := w.run()
	w.produce(encoded(t, use), encoded(t, use), encoded(t, other))
	require.ElementsMatch(t, []auditrecord.Record{use, other}, w.shown(2))
	stop()

	c, stop := w.run()
	defer stop()
	w.produce(encoded(t, final), []byte("no record"), encoded(t, use), encoded(t, final))
	for deadline := time.Now().Add(limit); c.Metrics().Snapshot().Records < 4; time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
	require.EqualValues(t, 1, c.Metrics().Snapshot().DeadLetters)
	require.ElementsMatch(t, []auditrecord.Record{final, other}, w.shown(2))
	total, err := w.store.CountAudit(t.Context(), auditlog.Filter{Workspace: &use.Workspace}, 100)
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	usage, rows, err := w.store.AuditUsage(t.Context(), auditlog.Filter{Workspace: &use.Workspace}, true, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, rows)
	require.EqualValues(t, 1, usage[0].Requests)
	require.EqualValues(t, 99, usage[0].BytesOut)
	require.Equal(t, "me", usage[0].Group)
}

func TestACommitBeyondWhatIsStoredIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	uses := func(n int) (all [][]byte) {
		for range n {
			all = append(all, encoded(t, auditrecord.Record{RequestID: uuid.NewString(), At: time.Now(), Requests: 1}))
		}
		return all
	}
	_, stop := w.run()
	w.produce(uses(3)...)
	w.shown(3)
	stop()

	topic, group := w.log.Topic(kafka.TopicAudit).Name, w.deps.Config.Group
	client, err := kgo.NewClient(w.broker.Opts()...)
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	before, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	var moved kadm.Offsets
	before.Each(func(end kadm.ListedOffset) { moved.AddOffset(topic, end.Partition, end.Offset+10, -1) })
	answer, err := admin.CommitOffsets(t.Context(), group, moved)
	require.NoError(t, err)
	require.NoError(t, answer.Error())

	for range 40 { // so that what was committed is there by now
		w.produce(uses(10)...)
	}
	after, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	overtaken := 0
	after.Each(func(end kadm.ListedOffset) {
		if to, is := moved.Lookup(topic, end.Partition); is && end.Offset > to.At {
			overtaken++
		}
	})
	require.NotZero(t, overtaken)
	_, stop = w.run()
	defer stop()
	w.shown(403)
}

func TestMonthsPastTheRetentionAreDropped(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	var all []auditrecord.Record
	for _, age := range []time.Duration{0, 20, 70, 400} {
		all = append(all, auditrecord.Record{RequestID: uuid.NewString(), At: now.Add(-age * 24 * time.Hour), Requests: 1})
	}
	require.NoError(t, w.store.InsertAudit(t.Context(), all))
	w.shown(4)
	_, stop := w.run() // it looks at once
	defer stop()
	require.ElementsMatch(t, all[:2], w.shown(2))
	months, err := w.store.ExpireAudit(t.Context(), now.Add(-100*365*24*time.Hour))
	require.NoError(t, err)
	require.Zero(t, months, "a long retention drops nothing")
	w.shown(2)
}
