package commands_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestWithoutRedisCommandsAreDecidedAndTheirOutcomesKept(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		closed, err := redis.Open(context.Background(), redis.Options{URL: f.redisURL})
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		f.consumeWith(f.log, closed)
		for i := range 3 {
			request := f.request(graphrecord.Single, node("a"))
			f.produce(request)
			f.eventually("it has an outcome", func() bool { return f.stored(request) != nil })
			require.Equal(t, int32(i+1), f.stored(request).GetResults()[0].GetUndoDepth())
		}
	})
}

// TestLosingTheStacksChangesNoAnswer tests that outcomes match the journal whatever the cache
// of undo stacks contains, in memory or in Redis, and whenever it is lost.
func TestLosingTheStacksChangesNoAnswer(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		options, err := goredis.ParseURL(f.redisURL)
		require.NoError(t, err)
		raw := goredis.NewClient(options)
		t.Cleanup(func() { _ = raw.Close() })
		requireAnswersWithLostStacks(t, f, raw)
	})
}

func TestLosingTheStacksChangesNoAnswerWithSentinels(t *testing.T) {
	testenv.RequireFull(t)
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		s := testenv.RedisSentinels(t)
		raw := s.Servers[0].Client()
		t.Cleanup(func() { _ = raw.Close() })
		f := newFixtureWith(t, broker, redis.Options{URL: s.URL(), SentinelPassword: s.SentinelPassword})
		requireAnswersWithLostStacks(t, f, raw)
	})
}

func TestLosingTheStacksChangesNoAnswerInARedisCluster(t *testing.T) {
	testenv.RequireFull(t)
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		c := testenv.RedisCluster(t)
		raw := c.Client()
		t.Cleanup(func() { _ = raw.Close() })
		requireAnswersWithLostStacks(t, newFixtureWith(t, broker, redis.Options{URL: c.URL()}), raw)
	})
}

// requireAnswersWithLostStacks loses the stacks of workspaces in several ways. raw is a client of their
// servers.
func requireAnswersWithLostStacks(t *testing.T, f *fixture, raw goredis.UniversalClient) {
	t.Helper()
	actors := []uuid.UUID{uuid.New(), uuid.New()}
	var depths [][2]int32
	run := func(lose func(i int)) {
		consumer := f.consume()
		for i := range 60 {
			var p graph.Payload = node("n")
			switch {
			case i%7 == 6:
				p = graph.Undo{Pick: graph.Pick{Workspace: true}}
			case i%4 == 2:
				p = graph.Undo{}
			case i%4 == 3:
				p = graph.Redo{}
			}
			request := f.request(graphrecord.Single, p)
			request.Actor = actors[i*i%3%2]
			result := f.submit(request).GetResults()[0]
			depths = append(depths, [2]int32{result.GetUndoDepth(), result.GetRedoDepth()})
			if i%20 == 19 {
				consumer.stop()
				lose(i)
				consumer = f.consume()
			}
		}
		consumer.stop()
	}
	run(func(int) {}) // found in Redis
	want := slices.Clone(depths)

	var before string
	for name, lose := range map[string]func(int){
		"outdated": func(int) { // as if Redis had accepted no writes for some time
			key := "livegraph:undo:" + f.workspace.String()
			now, err := raw.Dump(context.Background(), key).Result()
			require.NoError(t, err)
			if before != "" {
				require.NoError(t, raw.RestoreReplace(context.Background(), key, 0, before).Err())
			}
			before = now
		},
		"removed": func(int) {
			require.NoError(t, raw.Del(context.Background(), "livegraph:undo:"+f.workspace.String()).Err())
		},
		"of another sequence": func(i int) {
			require.NoError(
				t, raw.HIncrBy(context.Background(), "livegraph:undo:"+f.workspace.String(), "head", int64(1-i%3)).Err(),
			)
		},
		"not readable": func(int) {
			for _, actor := range append(actors, uuid.Nil) {
				require.NoError(
					t, raw.HSet(context.Background(), "livegraph:undo:"+f.workspace.String(), actor.String(), "nonsense").Err(),
				)
			}
		},
	} {
		f.workspace, depths = f.newWorkspace(), nil
		run(lose)
		require.Equal(t, want, depths, name)
	}
}
