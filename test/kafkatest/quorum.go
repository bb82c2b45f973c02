package kafkatest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/test/engines/apachekafka"
	"github.com/livegraph/livegraph/test/testenv"
)

// kafkaMembers is the number of brokers of a Quorum.
const kafkaMembers = 3

// quorumTimeout bounds the wait for a change of the cluster.
const quorumTimeout = 2 * time.Minute

// Quorum is three brokers of Apache Kafka only for one test, which may kill and suspend them. Topics
// have three replicas by default.
type Quorum struct {
	*apachekafka.Quorum
	Admin *kadm.Client
}

// NewQuorum starts the brokers. If Apache Kafka is unavailable, the test is skipped and reported as
// not run.
func NewQuorum(t testing.TB) *Quorum {
	t.Helper()
	o := apachekafka.Options{Options: engine.Options{Dir: t.TempDir()}, Jars: requireApache(t)}
	q := &Quorum{Quorum: testenv.StartForTest(
		t, o, func(ctx context.Context, o apachekafka.Options) (*apachekafka.Quorum, error) {
			return apachekafka.StartQuorum(ctx, o, kafkaMembers)
		},
	)}
	client, err := kgo.NewClient(kgo.SeedBrokers(q.Brokers()...), kgo.DisableClientMetrics())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	q.Admin = kadm.NewClient(client)
	return q
}

// Kill kills a broker. It starts again only by Start.
func (q *Quorum) Kill(t testing.TB, id int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.DropTimeout)
	defer cancel()
	require.NoError(t, q.Broker(id).Kill(ctx))
}

// Start starts brokers that were killed, together: without most of the controllers none is ready. They
// have the same addresses and records.
func (q *Quorum) Start(t testing.TB, ids ...int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.StartTimeout)
	defer cancel()
	var group errgroup.Group
	for _, id := range ids {
		group.Go(func() error { return q.Broker(id).Start(ctx) })
	}
	require.NoError(t, group.Wait())
}

// Pause suspends a broker: it keeps its connections and does not respond. Resume continues it.
func (q *Quorum) Pause(t testing.TB, id int32) {
	t.Helper()
	testenv.Pause(t, q.Broker(id).Process)
}

// Resume continues a broker that Pause suspended.
func (q *Quorum) Resume(t testing.TB, id int32) {
	t.Helper()
	testenv.Resume(t, q.Broker(id).Process)
}

// Leader returns the id of the broker that leads a partition, or -1 while none does.
func (q *Quorum) Leader(t testing.TB, topic string, partition int32) int32 {
	t.Helper()
	return q.partition(t, topic, partition).Leader
}

// partition returns the state of a partition; Leader is -1 if it cannot be read.
func (q *Quorum) partition(t testing.TB, topic string, partition int32) kadm.PartitionDetail {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.DropTimeout)
	defer cancel()
	meta, err := q.Admin.Metadata(ctx, topic)
	if p, ok := meta.Topics[topic].Partitions[partition]; err == nil && ok {
		return p
	}
	return kadm.PartitionDetail{Leader: -1}
}

// AwaitLeader waits until a partition has a leader, other than one, and returns its id.
func (q *Quorum) AwaitLeader(t testing.TB, topic string, partition, other int32) (id int32) {
	t.Helper()
	require.Eventually(t, func() bool {
		id = q.Leader(t, topic, partition)
		return id >= 0 && id != other
	}, quorumTimeout, 100*time.Millisecond, "partition %d of %s has no other leader than %d", partition, topic, other)
	return id
}

// AwaitReplicas waits until a partition has a number of in-sync replicas.
func (q *Quorum) AwaitReplicas(t testing.TB, topic string, partition int32, inSync int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(q.partition(t, topic, partition).ISR) == inSync }, quorumTimeout,
		100*time.Millisecond, "partition %d of %s does not have %d in-sync replicas", partition, topic, inSync)
}

// Move replaces a broker by another one in the replicas of all partitions of topics, and waits until the
// other one has the records.
func (q *Quorum) Move(t testing.TB, from, to int32, topics ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), quorumTimeout)
	defer cancel()
	meta, err := q.Admin.Metadata(ctx, topics...)
	require.NoError(t, err)
	var request kadm.AlterPartitionAssignmentsReq
	for _, topic := range meta.Topics {
		for _, p := range topic.Partitions {
			replicas := slices.Clone(p.Replicas)
			if i := slices.Index(replicas, from); i >= 0 {
				replicas[i] = to
				request.Assign(topic.Topic, p.Partition, replicas)
			}
		}
	}
	responses, err := q.Admin.AlterPartitionAssignments(ctx, request)
	require.NoError(t, err)
	require.NoError(t, responses.Error())
	require.Eventually(t, func() bool {
		meta, err := q.Admin.Metadata(ctx, topics...)
		if err != nil {
			return false
		}
		for _, topic := range meta.Topics {
			for _, p := range topic.Partitions {
				if slices.Contains(p.Replicas, from) || len(p.ISR) < len(p.Replicas) {
					return false
				}
			}
		}
		return true
	}, quorumTimeout, 100*time.Millisecond, "the partitions do not move from broker %d to %d", from, to)
}

// AwaitInSync waits until all replicas of topics are in sync.
func (q *Quorum) AwaitInSync(t testing.TB, topics ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.DropTimeout)
		defer cancel()
		meta, err := q.Admin.Metadata(ctx, topics...)
		if err != nil || len(meta.Topics) < len(topics) {
			return false
		}
		for _, topic := range meta.Topics {
			for _, p := range topic.Partitions {
				if len(p.ISR) < len(p.Replicas) {
					return false
				}
			}
		}
		return true
	}, quorumTimeout, 100*time.Millisecond, "replicas of %v are not in sync", topics)
}
