package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// consumer is a consumer group of Livegraph, its role and its topic.
type consumer struct{ role, group, topic string }

var groups = []consumer{
	{"points", "livegraph-points", "points"},
	{"commands", "livegraph-commands", "graph.commands"},
	{"embeddings", "livegraph-embeddings", "graph.events"},
	{"embeddings", "livegraph-lexical", "graph.events"},
	{"audit", "livegraph-audit", "audit"},
}

// Groups returns the role of each of Livegraph's consumer groups, by group.
func Groups() map[string]string {
	all := map[string]string{}
	for _, c := range groups {
		all[c.group] = c.role
	}
	return all
}

// kafkaFaults returns the faults that are specific to Kafka.
func kafkaFaults(env *environment.Environment, s *environment.Stores) []Fault {
	all := []Fault{{Kind: "restart/kafka", Lasts: instant, Inject: func(ctx context.Context, _ *rand.Rand) (
		func(context.Context) error, error,
	) {
		return env.Engine(environment.Kafka).WaitReady, env.Engine(environment.Kafka).Restart(ctx, nil)
	}}}
	if env.Apache() {
		all = append(all, Fault{Kind: "leaders/kafka", Lasts: instant, Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return noHeal, moveLeaders(ctx, s, dice)
		}})
	}
	for _, c := range groups {
		all = append(all,
			Fault{Kind: "rebalances/" + c.group, Lasts: instant, Inject: func(
				ctx context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				return noHeal, rebalances(ctx, env, c, dice)
			}},
			Fault{Kind: "offsets-back/" + c.group, Lasts: instant, Inject: func(
				ctx context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				return moveOffsets(ctx, env, s, c, func(start, _, committed int64) int64 {
					return start + dice.Int64N(committed-start+1)
				})
			}},
			Fault{Kind: "offsets-beyond/" + c.group, Lasts: instant, Inject: func(
				ctx context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				return moveOffsets(ctx, env, s, c, func(_, end, _ int64) int64 { return end + 1 + dice.Int64N(1000) })
			}},
		)
	}
	all = append(all, Fault{Kind: "offsets-below/livegraph-points", Lasts: instant,
		Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			return trimConsumed(ctx, env, s, groups[0])
		}})
	all = append(all, Fault{Kind: "partitions-added/points", Lasts: instant,
		Inject: func(ctx context.Context, dice *rand.Rand) (func(context.Context) error, error) {
			return noHeal, addPartitions(ctx, s, 1+dice.IntN(3))
		}})
	return append(all, lossFaults(env, s)...)
}

// addPartitions adds partitions to topic points, so that many series move to other partitions while
// points are written, overwritten and deleted. Each process learns of the change at another time.
func addPartitions(ctx context.Context, s *environment.Stores, more int) error {
	const maxPartitions = 64
	topics, err := s.Log.ListTopics(ctx, "points")
	if err != nil {
		return err
	}
	current := len(topics["points"].Partitions)
	if current == 0 || current+more > maxPartitions {
		return fmt.Errorf("the topic has %d partitions", current)
	}
	answers, err := s.Log.UpdatePartitions(ctx, current+more, "points")
	if err != nil {
		return err
	}
	return answers.Error()
}

// moveLeaders moves the leadership of random partitions to the other replica, including partitions
// of the offsets topic.
func moveLeaders(ctx context.Context, s *environment.Stores, dice *rand.Rand) error {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	topics, err := s.Log.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	var request kadm.AlterPartitionAssignmentsReq
	var moved kadm.TopicsSet
	topics.EachPartition(func(p kadm.PartitionDetail) {
		if len(p.Replicas) != 2 || p.Leader < 0 || dice.IntN(2) == 0 {
			return
		}
		follower := p.Replicas[0]
		if follower == p.Leader {
			follower = p.Replicas[1]
		}
		request.Assign(p.Topic, p.Partition, []int32{follower, p.Leader})
		moved.Add(p.Topic, p.Partition)
	})
	if len(moved) == 0 {
		return nil
	}
	answers, err := s.Log.AlterPartitionAssignments(ctx, request)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		return err
	}
	_, err = s.Log.ElectLeaders(ctx, kadm.ElectPreferredReplica, moved)
	return err
}

// rebalances makes foreign members join a group and leave it again. They consume nothing, but block
// the other members for a short time.
func rebalances(ctx context.Context, env *environment.Environment, c consumer, dice *rand.Rand) error {
	for range 2 + dice.IntN(4) {
		member, err := kgo.NewClient(env.KafkaOptions(kgo.ConsumerGroup(c.group), kgo.ConsumeTopics(c.topic),
			kgo.DisableAutoCommit(), kgo.SessionTimeout(environment.SessionTimeout),
			kgo.HeartbeatInterval(500*time.Millisecond))...)
		if err != nil {
			return err
		}
		joinCtx, cancel := context.WithTimeout(ctx, between(100*time.Millisecond, 1500*time.Millisecond)(dice))
		member.PollFetches(joinCtx)
		cancel()
		member.Close()
	}
	return nil
}

// moveOffsets replaces the committed offsets of a group, as an operator's mistake would do: no data
// may be lost or counted twice.
func moveOffsets(
	ctx context.Context, env *environment.Environment, s *environment.Stores, c consumer,
	to func(start, end, committed int64) int64,
) (func(context.Context) error, error) {
	return whileStopped(ctx, env, c, func(ctx context.Context) error {
		starts, err := s.Log.ListStartOffsets(ctx, c.topic)
		if err != nil {
			return err
		}
		ends, err := s.Log.ListEndOffsets(ctx, c.topic)
		if err != nil {
			return err
		}
		committedOffsets, err := s.Log.FetchOffsets(ctx, c.group)
		if err != nil {
			return err
		}
		var moved kadm.Offsets
		ends.Each(func(end kadm.ListedOffset) {
			start, _ := starts.Lookup(c.topic, end.Partition)
			committed := start.Offset
			if offset, ok := committedOffsets.Lookup(c.topic, end.Partition); ok {
				committed = min(max(offset.At, start.Offset), end.Offset)
			}
			moved.AddOffset(c.topic, end.Partition, to(start.Offset, end.Offset, committed), -1)
		})
		answer, err := s.Log.CommitOffsets(ctx, c.group, moved)
		if err != nil {
			return err
		}
		return answer.Error()
	})
}

// storedOffsets returns the offset up to which each partition of a topic is visible in ClickHouse.
// The committed offset of the group may be higher: another fault may have moved it.
func storedOffsets(ctx context.Context, s *environment.Stores, topic string) (map[int32]int64, error) {
	topics, err := s.Log.ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	id := topics[topic].ID
	rows, err := s.Postgres.Query(ctx, `SELECT partition, next_offset FROM watermarks WHERE topic_id = $1`, id[:])
	if err != nil {
		return nil, err
	}
	offsets := map[int32]int64{}
	var partition int32
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &next}, func() error {
		offsets[partition] = next
		return nil
	})
	return offsets, err
}

// trimConsumed deletes the consumed records of a topic, and commits earlier offsets for the group.
// It leaves one record in each partition of the embedded broker: after a kill, that broker finds
// the end of a partition only by its records, and begins at 0 again if there are none. That would
// be a loss of data, which other faults cover.
func trimConsumed(
	ctx context.Context, env *environment.Environment, s *environment.Stores, c consumer,
) (func(context.Context) error, error) {
	return whileStopped(ctx, env, c, func(ctx context.Context) error {
		committedOffsets, err := s.Log.FetchOffsets(ctx, c.group)
		if err != nil {
			return err
		}
		offsets, err := storedOffsets(ctx, s, c.topic)
		if err != nil {
			return err
		}
		kept := int64(1)
		if env.Apache() {
			kept = 0
		}
		var consumed, zero kadm.Offsets
		committedOffsets.Each(func(o kadm.OffsetResponse) {
			if before := min(o.At, offsets[o.Partition]) - kept; o.Topic == c.topic && before > 0 {
				consumed.AddOffset(c.topic, o.Partition, before, -1)
				zero.AddOffset(c.topic, o.Partition, 0, -1)
			}
		})
		if len(consumed) == 0 {
			return nil
		}
		removed, err := s.Log.DeleteRecords(ctx, consumed)
		if err == nil {
			err = removed.Error()
		}
		if err != nil {
			return err
		}
		answer, err := s.Log.CommitOffsets(ctx, c.group, zero)
		if err != nil {
			return err
		}
		return answer.Error()
	})
}

// whileStopped stops the processes of a group's role, calls do when the group is empty, and returns
// a heal function that starts them again.
func whileStopped(
	ctx context.Context, env *environment.Environment, c consumer, do func(context.Context) error,
) (func(context.Context) error, error) {
	const limit = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	roleProcesses := env.Roles(c.role)
	var release []func()
	heal := func(ctx context.Context) error {
		for _, r := range release {
			r()
		}
		for _, process := range roleProcesses {
			if err := process.WaitReady(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	for _, process := range roleProcesses {
		release = append(release, process.Hold())
		if err := process.Terminate(ctx); err != nil {
			return heal, fmt.Errorf("ending %s: %w", process.Name, err)
		}
	}
	// A killed member remains in the group until its session expires, and while the group has members
	// the broker accepts no commits of others.
	return heal, retry(ctx, do)
}

// lossFaults returns the faults that lose acknowledged data by definition. A process must log the
// loss: if it does not, heal returns an error.
func lossFaults(env *environment.Environment, s *environment.Stores) []Fault {
	all := []Fault{{Kind: "records-lost/points", Loses: true, Lasts: between(500*time.Millisecond, time.Second),
		Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			return loseRecords(ctx, env, s)
		},
	}}
	for _, topic := range []string{"points", "graph.commands", "graph.events", "audit"} {
		all = append(all, Fault{Kind: "recreated/" + topic, Loses: true, Lasts: instant,
			Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
				return recreate(ctx, env, s, topic)
			}})
	}
	return all
}

// recreate deletes a topic and creates it again.
func recreate(
	ctx context.Context, env *environment.Environment, s *environment.Stores, topic string,
) (func(context.Context) error, error) {
	before, err := s.Log.ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	configs, err := topicConfigs(ctx, s, topic)
	if err != nil {
		return nil, err
	}
	if _, err := s.Log.DeleteTopic(ctx, topic); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := retry(ctx, func(ctx context.Context) error {
			_, err := s.Log.CreateTopic(ctx, int32(len(before[topic].Partitions)), -1, configs, topic)
			return err
		})
		if err != nil {
			return err
		}
		now, err := s.Log.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		return waitForLog(ctx, env, "deleted and created again", now[topic].ID.String())
	}, nil
}

// loseRecords deletes records that were not consumed, as retention does when a consumer is
// unavailable for too long.
func loseRecords(
	ctx context.Context, env *environment.Environment, s *environment.Stores,
) (func(context.Context) error, error) {
	c := groups[0]
	before := env.CountLogLines("DATA LOSS")
	roleProcesses := env.Roles(c.role)
	release := roleProcesses[0].Hold()
	heal := func(ctx context.Context) error {
		ends, err := s.Log.ListEndOffsets(ctx, c.topic)
		if err != nil {
			release()
			return err
		}
		committedOffsets, err := s.Log.FetchOffsets(ctx, c.group)
		lost := int64(0)
		ends.Each(func(end kadm.ListedOffset) {
			if offset, ok := committedOffsets.Lookup(c.topic, end.Partition); ok && offset.At >= 0 {
				lost += end.Offset - offset.At
			}
		})
		if err == nil {
			_, err = s.Log.DeleteRecords(ctx, ends.Offsets())
		}
		release()
		if err != nil || lost == 0 {
			return err
		}
		return retry(ctx, func(context.Context) error {
			if env.CountLogLines("DATA LOSS") == before {
				return fmt.Errorf("%d records were gone before they were consumed, and no process has said so", lost)
			}
			return nil
		})
	}
	return heal, roleProcesses[0].Terminate(ctx)
}

// waitForLog waits until a process has logged a line with these words.
func waitForLog(ctx context.Context, env *environment.Environment, words ...string) error {
	const limit = 45 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return retry(ctx, func(context.Context) error {
		if env.CountLogLines(words...) == 0 {
			return fmt.Errorf("no process has said %q", words)
		}
		return nil
	})
}

// topicConfigs returns the settings with which a topic was created.
func topicConfigs(ctx context.Context, s *environment.Stores, topic string) (map[string]*string, error) {
	described, err := s.Log.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	configs := map[string]*string{}
	for _, resource := range described {
		for _, c := range resource.Configs {
			if c.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
				configs[c.Key] = c.Value
			}
		}
	}
	return configs, nil
}
