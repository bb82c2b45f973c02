package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// consumer is a group of Livegraph's with the role that it belongs to.
type consumer struct{ role, group, topic string }

var groups = []consumer{
	{"points", "livegraph-points", "points"},
	{"commands", "livegraph-commands", "graph.commands"},
	{"embeddings", "livegraph-embeddings", "graph.events"},
	{"embeddings", "livegraph-lexical", "graph.events"},
	{"audit", "livegraph-audit", "audit"},
}

// Groups returns Livegraph's consumer groups, each with the role that it belongs to.
func Groups() map[string]string {
	all := map[string]string{}
	for _, c := range groups {
		all[c.group] = c.role
	}
	return all
}

// logs are the faults that only a log can have.
func logs(w *world.World, s *world.Stores) []Fault {
	all := []Fault{{Kind: "restart/kafka", Lasts: moment, Inject: func(ctx context.Context, _ *rand.Rand) (
		func(context.Context) error, error,
	) {
		return w.Engine(world.Kafka).WaitReady, w.Engine(world.Kafka).Restart(ctx, nil)
	}}}
	if w.Apache() {
		all = append(all, Fault{Kind: "leaders/kafka", Lasts: moment, Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return nothing, moveLeaders(ctx, s, dice)
		}})
	}
	for _, c := range groups {
		all = append(all,
			Fault{Kind: "rebalances/" + c.group, Lasts: moment, Inject: func(
				ctx context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				return nothing, rebalances(ctx, w, c, dice)
			}},
			Fault{Kind: "offsets-back/" + c.group, Lasts: moment, Inject: func(
				ctx context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				return moveOffsets(ctx, w, s, c, func(start, _, committed int64) int64 {
					return start + dice.Int64N(committed-start+1)
				})
			}},
			Fault{Kind: "offsets-beyond/" + c.group, Lasts: moment, Inject: func(
				ctx context.Context, dice *rand.Rand,
			) (func(context.Context) error, error) {
				return moveOffsets(ctx, w, s, c, func(_, end, _ int64) int64 { return end + 1 + dice.Int64N(1000) })
			}},
		)
	}
	all = append(all, Fault{Kind: "offsets-below/livegraph-points", Lasts: moment,
		Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			return trim(ctx, w, s, groups[0])
		}})
	all = append(all, Fault{Kind: "partitions-added/points", Lasts: moment,
		Inject: func(ctx context.Context, dice *rand.Rand) (func(context.Context) error, error) {
			return nothing, addPartitions(ctx, s, 1+dice.IntN(3))
		}})
	return append(all, losses(w, s)...)
}

// addPartitions adds partitions to topic points, so that many series move, while
// points are written, written over and deleted. Each process gets to know of it at
// another moment.
func addPartitions(ctx context.Context, s *world.Stores, more int) error {
	const most = 64
	topics, err := s.Log.ListTopics(ctx, "points")
	if err != nil {
		return err
	}
	has := len(topics["points"].Partitions)
	if has == 0 || has+more > most {
		return fmt.Errorf("the topic has %d partitions", has)
	}
	answers, err := s.Log.UpdatePartitions(ctx, has+more, "points")
	if err != nil {
		return err
	}
	return answers.Error()
}

// moveLeaders makes the other replica the leader of some partitions, those of the groups'
// offsets included.
func moveLeaders(ctx context.Context, s *world.Stores, dice *rand.Rand) error {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	topics, err := s.Log.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	var order kadm.AlterPartitionAssignmentsReq
	var moved kadm.TopicsSet
	topics.EachPartition(func(p kadm.PartitionDetail) {
		if len(p.Replicas) != 2 || p.Leader < 0 || dice.IntN(2) == 0 {
			return
		}
		follower := p.Replicas[0]
		if follower == p.Leader {
			follower = p.Replicas[1]
		}
		order.Assign(p.Topic, p.Partition, []int32{follower, p.Leader})
		moved.Add(p.Topic, p.Partition)
	})
	if len(moved) == 0 {
		return nil
	}
	answers, err := s.Log.AlterPartitionAssignments(ctx, order)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		return err
	}
	_, err = s.Log.ElectLeaders(ctx, kadm.ElectPreferredReplica, moved)
	return err
}

// rebalances has strangers join a group and leave it again. They consume nothing, and
// hold up anyone who would, for moments.
func rebalances(ctx context.Context, w *world.World, c consumer, dice *rand.Rand) error {
	for range 2 + dice.IntN(4) {
		member, err := kgo.NewClient(w.KafkaClient(kgo.ConsumerGroup(c.group), kgo.ConsumeTopics(c.topic),
			kgo.DisableAutoCommit(), kgo.SessionTimeout(world.Session), kgo.HeartbeatInterval(500*time.Millisecond))...)
		if err != nil {
			return err
		}
		at, cancel := context.WithTimeout(ctx, between(100*time.Millisecond, 1500*time.Millisecond)(dice))
		member.PollFetches(at)
		cancel()
		member.Close()
	}
	return nil
}

// moveOffsets has the group of a role find other offsets than it has committed, as an
// operator's mistake would leave them: it must not lose by them, and not count twice.
func moveOffsets(
	ctx context.Context, w *world.World, s *world.Stores, c consumer, to func(start, end, committed int64) int64,
) (func(context.Context) error, error) {
	return whileAway(ctx, w, c, func(ctx context.Context) error {
		starts, err := s.Log.ListStartOffsets(ctx, c.topic)
		if err != nil {
			return err
		}
		ends, err := s.Log.ListEndOffsets(ctx, c.topic)
		if err != nil {
			return err
		}
		had, err := s.Log.FetchOffsets(ctx, c.group)
		if err != nil {
			return err
		}
		var moved kadm.Offsets
		ends.Each(func(end kadm.ListedOffset) {
			start, _ := starts.Lookup(c.topic, end.Partition)
			committed := start.Offset
			if at, is := had.Lookup(c.topic, end.Partition); is {
				committed = min(max(at.At, start.Offset), end.Offset)
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

// stored returns how far each partition of a topic is visible in ClickHouse. What the group
// has committed may be more: another fault may have moved it.
func stored(ctx context.Context, s *world.Stores, topic string) (map[int32]int64, error) {
	topics, err := s.Log.ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	id := topics[topic].ID
	rows, err := s.Postgres.Query(ctx, `SELECT partition, next_offset FROM watermarks WHERE topic_id = $1`, id[:])
	if err != nil {
		return nil, err
	}
	marks := map[int32]int64{}
	var partition int32
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &next}, func() error {
		marks[partition] = next
		return nil
	})
	return marks, err
}

// trim removes from a topic what its group has consumed, and has the group find offsets
// of before. The embedded broker keeps a record of each partition: over a kill it knows
// where a partition ends by its records alone, and begins at 0 again without any. That is
// a log that has lost something, which other faults stand for.
func trim(ctx context.Context, w *world.World, s *world.Stores, c consumer) (func(context.Context) error, error) {
	return whileAway(ctx, w, c, func(ctx context.Context) error {
		had, err := s.Log.FetchOffsets(ctx, c.group)
		if err != nil {
			return err
		}
		marks, err := stored(ctx, s, c.topic)
		if err != nil {
			return err
		}
		kept := int64(1)
		if w.Apache() {
			kept = 0
		}
		var consumed, zero kadm.Offsets
		had.Each(func(o kadm.OffsetResponse) {
			if at := min(o.At, marks[o.Partition]) - kept; o.Topic == c.topic && at > 0 {
				consumed.AddOffset(c.topic, o.Partition, at, -1)
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

// whileAway ends the processes of a group's role, does something to the group when it is
// empty, and has heal bring them back.
func whileAway(
	ctx context.Context, w *world.World, c consumer, do func(context.Context) error,
) (func(context.Context) error, error) {
	const limit = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	of := w.Roles(c.role)
	var release []func()
	back := func(ctx context.Context) error {
		for _, r := range release {
			r()
		}
		for _, process := range of {
			if err := process.WaitReady(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	for _, process := range of {
		release = append(release, process.Hold())
		if err := process.Terminate(ctx); err != nil {
			return back, fmt.Errorf("ending %s: %w", process.Name, err)
		}
	}
	// A member that was killed is one until its session has run out, and with members
	// the broker takes no offsets from outside.
	return back, insist(ctx, do)
}

// losses are what loses acknowledged data by definition. It has to be noticed, and said
// in a process's log: where it is not, the fault cannot be taken back.
func losses(w *world.World, s *world.Stores) []Fault {
	all := []Fault{{Kind: "records-lost/points", Loses: true, Lasts: between(500*time.Millisecond, time.Second),
		Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			return loseRecords(ctx, w, s)
		},
	}}
	for _, topic := range []string{"points", "graph.commands", "graph.events", "audit"} {
		all = append(all, Fault{Kind: "recreated/" + topic, Loses: true, Lasts: moment,
			Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
				return recreate(ctx, w, s, topic)
			}})
	}
	return all
}

// recreate deletes a topic and makes it again.
func recreate(ctx context.Context, w *world.World, s *world.Stores, topic string) (func(context.Context) error, error) {
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
		err := insist(ctx, func(ctx context.Context) error {
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
		return said(ctx, w, "deleted and created again", now[topic].ID.String())
	}, nil
}

// loseRecords removes records that nobody has consumed, as retention does when a
// consumer is unavailable for too long.
func loseRecords(ctx context.Context, w *world.World, s *world.Stores) (func(context.Context) error, error) {
	c := groups[0]
	before := w.Says("DATA LOSS")
	of := w.Roles(c.role)
	release := of[0].Hold()
	back := func(ctx context.Context) error {
		ends, err := s.Log.ListEndOffsets(ctx, c.topic)
		if err != nil {
			release()
			return err
		}
		had, err := s.Log.FetchOffsets(ctx, c.group)
		lost := int64(0)
		ends.Each(func(end kadm.ListedOffset) {
			if at, is := had.Lookup(c.topic, end.Partition); is && at.At >= 0 {
				lost += end.Offset - at.At
			}
		})
		if err == nil {
			_, err = s.Log.DeleteRecords(ctx, ends.Offsets())
		}
		release()
		if err != nil || lost == 0 {
			return err
		}
		return insist(ctx, func(context.Context) error {
			if w.Says("DATA LOSS") == before {
				return fmt.Errorf("%d records were gone before they were consumed, and no process has said so", lost)
			}
			return nil
		})
	}
	return back, of[0].Terminate(ctx)
}

// said waits until a process has logged a line with these words.
func said(ctx context.Context, w *world.World, words ...string) error {
	const limit = 45 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return insist(ctx, func(context.Context) error {
		if w.Says(words...) == 0 {
			return fmt.Errorf("no process has said %q", words)
		}
		return nil
	})
}

// topicConfigs returns the settings that a topic was made with.
func topicConfigs(ctx context.Context, s *world.Stores, topic string) (map[string]*string, error) {
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
