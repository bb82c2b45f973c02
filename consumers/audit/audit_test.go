package audit_test

import (
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
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

type fixture struct {
	t      *testing.T
	broker *kafkatest.Broker
	log    *kafka.Client
	store  *auditlog.Store
	deps   audit.Deps
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	group := "audit-" + uuid.NewString()
	broker := kafkatest.NewKFake(t)
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), BufferedBytes: 1 << 20, AuditGroup: group,
		ProduceTimeout: time.Minute, Log: logger,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: 2, Replication: -1, RetentionBytes: 64 << 20,
	}))
	store, err := chtest.Open(t.Context(), chtest.Migrated(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	registry, err := stores.Open(t.Context(), pgtest.Migrated(t), 4)
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	require.NoError(t, registry.Migrate(t.Context()))
	return &fixture{t: t, broker: broker, log: log, store: auditlog.New(store), deps: audit.Deps{
		Log: log, Records: auditlog.New(store), Watermarks: registry, Logger: logger,
		Config: audit.Config{Group: group, BatchWait: 10 * time.Millisecond, Retention: 30 * 24 * time.Hour},
	}}
}

// run runs a consumer until stop is called or the test ends.
func (f *fixture) run() (c *audit.Consumer, stop func()) {
	f.t.Helper()
	c = audit.New(f.deps)
	return c, testenv.RunInBackground(f.t, c.Run)
}

func (f *fixture) produce(records ...[]byte) {
	f.t.Helper()
	var out []kafka.Record
	for _, r := range records {
		out = append(out, kafka.Record{Value: r, RequestID: "req_1"})
	}
	require.NoError(f.t, f.log.ProduceAudit(f.t.Context(), out))
}

func encoded(t *testing.T, r auditrecord.Record) []byte {
	t.Helper()
	out, err := auditrecord.Encode(&r)
	require.NoError(t, err)
	return out
}

// waitForRecords waits until a query returns n records, and returns them.
func (f *fixture) waitForRecords(n int) []auditrecord.Record {
	f.t.Helper()
	for deadline := time.Now().Add(testenv.WaitTimeout); ; time.Sleep(20 * time.Millisecond) {
		found, err := f.store.Audit(f.t.Context(), auditlog.Filter{}, nil, 0, 1000)
		require.NoError(f.t, err)
		if len(found) == n {
			return found
		}
		require.True(f.t, time.Now().Before(deadline), "%d records are returned, not %d", len(found), n)
	}
}

func TestAUseIsShownOnceHoweverOftenItComes(t *testing.T) {
	f := newFixture(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	request := auditrecord.Record{
		RequestID: "req_1", At: now, Key: uuid.New(), Workspace: uuid.New(), Method: "GET", Route: "/api/me", Status: 200,
		IP: netip.MustParseAddr("2001:db8::1"), UserAgent: "curl", Duration: 1500 * time.Microsecond, BytesIn: 1, BytesOut: 2,
		Requests: 1,
	}
	final, other := request, request
	final.Final, final.Duration, final.BytesOut = true, time.Second, 99
	other.RequestID, other.Key, other.Workspace, other.IP = "req_2", uuid.Nil, uuid.Nil, netip.Addr{}
	_, stop := f.run()
	f.produce(encoded(t, request), encoded(t, request), encoded(t, other))
	require.ElementsMatch(t, []auditrecord.Record{request, other}, f.waitForRecords(2))
	stop()

	c, stop := f.run()
	defer stop()
	f.produce(encoded(t, final), []byte("no record"), encoded(t, request), encoded(t, final))
	deadline := time.Now().Add(testenv.WaitTimeout)
	for ; c.Metrics().Snapshot().Records < 4; time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
	require.EqualValues(t, 1, c.Metrics().Snapshot().DeadLetters)
	require.ElementsMatch(t, []auditrecord.Record{final, other}, f.waitForRecords(2))
	total, err := f.store.CountAudit(t.Context(), auditlog.Filter{Workspace: &request.Workspace}, 100)
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	usage, rows, err := f.store.AuditUsage(t.Context(), auditlog.Filter{Workspace: &request.Workspace}, true, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, rows)
	require.EqualValues(t, 1, usage[0].Requests)
	require.EqualValues(t, 99, usage[0].BytesOut)
	require.Equal(t, "me", usage[0].Group)
}

func TestACommitBeyondWhatIsStoredIsIgnored(t *testing.T) {
	f := newFixture(t)
	encodedRecords := func(n int) (all [][]byte) {
		for range n {
			all = append(all, encoded(t, auditrecord.Record{RequestID: uuid.NewString(), At: time.Now(), Requests: 1}))
		}
		return all
	}
	_, stop := f.run()
	f.produce(encodedRecords(3)...)
	f.waitForRecords(3)
	stop()

	topic, group := f.log.Topic(kafka.TopicAudit).Name, f.deps.Config.Group
	client, err := kgo.NewClient(f.broker.Opts()...)
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

	for range 40 { // until the log ends above the committed offsets
		f.produce(encodedRecords(10)...)
	}
	after, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	overtaken := 0
	after.Each(func(end kadm.ListedOffset) {
		if offset, ok := moved.Lookup(topic, end.Partition); ok && end.Offset > offset.At {
			overtaken++
		}
	})
	require.NotZero(t, overtaken)
	_, stop = f.run()
	defer stop()
	f.waitForRecords(403)
}

func TestMonthsPastTheRetentionAreDropped(t *testing.T) {
	f := newFixture(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	var all []auditrecord.Record
	for _, age := range []time.Duration{0, 20, 70, 400} {
		all = append(all, auditrecord.Record{RequestID: uuid.NewString(), At: now.Add(-age * 24 * time.Hour), Requests: 1})
	}
	require.NoError(t, f.store.InsertAudit(t.Context(), all))
	f.waitForRecords(4)
	_, stop := f.run() // the first check is immediate
	defer stop()
	require.ElementsMatch(t, all[:2], f.waitForRecords(2))
	months, err := f.store.ExpireAudit(t.Context(), now.Add(-100*365*24*time.Hour))
	require.NoError(t, err)
	require.Zero(t, months, "a long retention drops nothing")
	f.waitForRecords(2)
}
