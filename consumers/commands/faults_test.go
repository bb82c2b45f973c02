package commands_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestARecordThatIsThereTwiceIsDoneOnceAndAnsweredTwice(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		request := w.request(graphrecord.Single, node("pump"))
		w.produce(request) // both are in the first group
		heard, stop := w.replies.Await(request.ID)
		defer stop()
		w.produce(request)
		w.consume()
		first := <-heard
		w.eventually("both are decided", func() bool { return w.number(`SELECT sum(next_offset) FROM command_offsets`) == 2 })
		require.Equal(t, 1, w.number(`SELECT count(*) FROM journal`))
		before := w.dump()

		outcome := w.ask(request)
		require.Nil(t, outcome.GetResults()[0].GetFailure())
		again, err := graphrecord.EncodeOutcome(outcome)
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.Equal(t, before, w.dump())
	})
}

func TestReadingTheLogAgainFromTheStartChangesNothing(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		consumer := w.consume()
		a, b := node("a"), node("b")
		w.do(a)
		w.ask(w.request(graphrecord.Atomic, b, edge(a.ID, b.ID)))
		w.do(a) // refused
		w.do(graph.DeleteNode{ID: a.ID})
		w.do(graph.Undo{})
		consumer.stop()
		before := w.dump()

		_, err := w.look.Exec(context.Background(), `UPDATE command_offsets SET next_offset = 0`)
		require.NoError(t, err)
		w.consume()
		w.eventually("all are read again", func() bool {
			return w.number(`SELECT sum(next_offset) FROM command_offsets`) == 5
		})
		require.Equal(t, before, w.dump())
		require.Equal(t, int64(6), w.do(node("c")).GetSequence()+1, "the journal goes on")
	})
}

func TestOfTwoConsumersOfOnePartitionTheStaleOneCommitsNothing(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		const requests = 400
		var all []*graphrecord.Request
		for range requests {
			r := w.request(graphrecord.Single, node("pump"))
			all = append(all, r)
		}
		// Another group: Kafka gives both consumers all partitions.
		w.consume()
		w.config.Group = "commands-impostor"
		w.consume()
		for _, r := range all {
			w.produce(r)
		}
		for _, r := range all {
			w.eventually("every command has an outcome", func() bool { return w.stored(r) != nil })
			require.Nil(t, w.stored(r).GetResults()[0].GetFailure())
		}
		require.Equal(t, requests, w.number(`SELECT count(*) FROM journal`))
		require.Equal(t, requests, w.number(`SELECT max(sequence) FROM journal`))
		require.Equal(t, requests, w.number(`SELECT count(DISTINCT command_id) FROM journal`))
		require.Equal(t, requests, w.number(`SELECT standing FROM graph_totals WHERE kind = 1`))
	})
}

// TestAConsumerWithNothingLeftToDoIsNotBehind: Kafka hears now and then how far it is,
// and must hear of the last record, too, though none comes after.
func TestAConsumerWithNothingLeftToDoIsNotBehind(t *testing.T) {
	w := newWorld(t, testenv.NewKFake(t))
	w.consume()
	for range 10 { // one after the other: all but the first within the pause between two commits
		r := w.request(graphrecord.Single, node("pump"))
		w.produce(r)
		w.eventually("it is decided", func() bool { return w.stored(r) != nil })
	}
	w.eventually("all is committed", func() bool {
		seen, err := w.log.ObserveTopic(t.Context(), kafka.TopicCommands)
		require.NoError(t, err)
		return !slices.ContainsFunc(seen.State, func(p kafka.PartitionState) bool {
			return p.End > max(p.Committed, p.Start)
		})
	})
}

// cutter is a proxy in front of Postgres that can lose the answer to a commit.
type cutter struct {
	net.Listener
	server string
	armed  atomic.Bool
	cuts   atomic.Int64
}

func newCutter(t *testing.T, server string) *cutter {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{Listener: listener, server: server}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return c
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		// The answers to "update graph_heads" and "commit" come together.
		if bytes.Contains(buffer[:n], []byte("COMMIT\x00")) && c.armed.CompareAndSwap(true, false) {
			c.cuts.Add(1)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func TestACommitWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		at, err := url.Parse(w.url)
		require.NoError(t, err)
		proxy := newCutter(t, at.Host)
		at.Host = proxy.Addr().String()
		through, err := stores.Open(context.Background(), at.String(), 4)
		require.NoError(t, err)
		t.Cleanup(through.Close)
		direct := w.graph
		w.graph = through
		w.consume()
		w.graph = direct

		require.Nil(t, w.do(node("a")).GetFailure())
		for i := range 3 {
			proxy.armed.Store(true)
			made := w.do(node(fmt.Sprint(i)))
			require.Nil(t, made.GetFailure())
			require.Equal(t, int64(i+2), made.GetSequence())
			require.Equal(t, int32(i+2), made.GetUndoDepth())
		}
		require.Positive(t, proxy.cuts.Load())
		require.Equal(t, 4, w.number(`SELECT count(*) FROM journal`))
	})
}

func TestARecordThatCannotBeReadIsADeadLetterAndThePartitionGoesOn(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		w.consume()
		require.NoError(t, w.log.ProduceCommand(context.Background(), kafka.Record{
			Workspace: w.workspace, Value: []byte("no request"), RequestID: "req_x",
		}))
		require.Nil(t, w.do(node("a")).GetFailure())
		letters := w.topic(w.log.Topic(kafka.TopicCommands).Name+".dlq", 1)
		require.Len(t, letters, 1)
		require.Equal(t, "no request", string(letters[0].Value))
		require.Contains(t, string(kafka.Header(letters[0], kafka.HeaderError)), "unreadable")
		require.Equal(t, "req_x", string(kafka.Header(letters[0], kafka.HeaderRequestID)))
	})
}

func TestACommandThatTheDatabaseRefusesFailsAlone(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		_, err := w.look.Exec(context.Background(), `ALTER TABLE nodes ADD CHECK (name <> 'poison')`)
		require.NoError(t, err)
		var all []*graphrecord.Request
		poison := 13
		for i := range 40 {
			payload := node("pump")
			if i == poison {
				payload.Name = "poison"
			}
			all = append(all, w.request(graphrecord.Single, payload))
			w.produce(all[i])
		}
		w.consume()
		for i, r := range all {
			w.eventually("every command has an outcome", func() bool { return w.stored(r) != nil })
			outcome := w.stored(r)
			if i == poison {
				require.Equal(t, fault.Internal.String(), outcome.GetFailure().GetKind())
				require.NotContains(t, outcome.GetFailure().GetMessage(), "check")
			} else {
				require.Nil(t, outcome.GetResults()[0].GetFailure())
			}
		}
		letters := w.topic(w.log.Topic(kafka.TopicCommands).Name+".dlq", 1)
		decoded, err := graphrecord.DecodeRequest(letters[0].Value)
		require.NoError(t, err)
		require.Equal(t, all[poison].ID, decoded.ID)
		require.Equal(t, 39, w.number(`SELECT max(sequence) FROM journal`))
	})
}

// A large batch is written while the next is decided.
func TestABatchThatTheDatabaseRefusesFailsAloneWhateverIsDecidedMeanwhile(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		_, err := w.look.Exec(context.Background(), `ALTER TABLE nodes ADD CHECK (name <> 'poison')`)
		require.NoError(t, err)
		const batches, poison, inBatch = 4, 1, 600
		var all []*graphrecord.Request
		for i := range batches {
			actions := make([]graph.Payload, inBatch)
			for j := range actions {
				payload := node("pump")
				if i == poison && j == inBatch/2 {
					payload.Name = "poison"
				}
				actions[j] = payload
			}
			all = append(all, w.request(graphrecord.Atomic, actions...))
			w.produce(all[i])
		}
		w.consume()
		for i, r := range all {
			w.eventually("every batch has an outcome", func() bool { return w.stored(r) != nil })
			failed := w.stored(r).GetFailure() != nil
			require.Equal(t, i == poison, failed, i)
		}
		require.Equal(t, (batches-1)*inBatch, w.number(`SELECT count(*) FROM nodes`))
		require.Equal(t, batches-1, w.number(`SELECT count(*) FROM journal`))
		letters := w.topic(w.log.Topic(kafka.TopicCommands).Name+".dlq", 1)
		decoded, err := graphrecord.DecodeRequest(letters[0].Value)
		require.NoError(t, err)
		require.Equal(t, all[poison].ID, decoded.ID)
	})
}

func TestACommandThatCannotBeDecidedFailsAlone(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		w.consume()
		w.do(node("a"))
		_, err := w.look.Exec(context.Background(), `UPDATE journal SET change = '\x00'`)
		require.NoError(t, err)
		undo := w.request(graphrecord.Single, graph.Undo{})
		other := w.request(graphrecord.Single, node("b"))
		w.produce(undo)
		w.produce(other)
		w.eventually("both have an outcome", func() bool { return w.stored(undo) != nil && w.stored(other) != nil })
		require.Equal(t, fault.Internal.String(), w.stored(undo).GetFailure().GetKind())
		require.Nil(t, w.stored(other).GetResults()[0].GetFailure())
		require.Equal(t, 2, w.number(`SELECT max(sequence) FROM journal`))
	})
}

func TestWithoutRedisCommandsAreDecidedAndTheirOutcomesKept(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		gone, err := redis.Open(context.Background(), redis.Options{URL: w.redisURL})
		require.NoError(t, err)
		require.NoError(t, gone.Close())
		w.consumeWith(w.log, gone)
		for i := range 3 {
			request := w.request(graphrecord.Single, node("a"))
			w.produce(request)
			w.eventually("it has an outcome", func() bool { return w.stored(request) != nil })
			require.Equal(t, int32(i+1), w.stored(request).GetResults()[0].GetUndoDepth())
		}
	})
}

// Whatever is remembered of the undo stacks, in memory or in Redis, and whenever it
// is lost, the answers are those of the journal.
func TestLosingTheStacksChangesNoAnswer(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		options, err := goredis.ParseURL(w.redisURL)
		require.NoError(t, err)
		raw := goredis.NewClient(options)
		t.Cleanup(func() { _ = raw.Close() })
		actors := []uuid.UUID{uuid.New(), uuid.New()}
		var depths [][2]int32
		run := func(lose func(i int)) {
			consumer := w.consume()
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
				request := w.request(graphrecord.Single, p)
				request.Actor = actors[i*i%3%2]
				result := w.ask(request).GetResults()[0]
				depths = append(depths, [2]int32{result.GetUndoDepth(), result.GetRedoDepth()})
				if i%20 == 19 {
					consumer.stop()
					lose(i)
					consumer = w.consume()
				}
			}
			consumer.stop()
		}
		run(func(int) {}) // found in Redis
		want := slices.Clone(depths)

		var before string
		for name, lose := range map[string]func(int){
			"of before": func(int) { // as when Redis took no writes for a while
				key := "livegraph:undo:" + w.workspace.String()
				now, err := raw.Dump(context.Background(), key).Result()
				require.NoError(t, err)
				if before != "" {
					require.NoError(t, raw.RestoreReplace(context.Background(), key, 0, before).Err())
				}
				before = now
			},
			"flushed": func(int) { require.NoError(t, raw.FlushDB(context.Background()).Err()) },
			"of another sequence": func(i int) {
				require.NoError(
					t, raw.HIncrBy(context.Background(), "livegraph:undo:"+w.workspace.String(), "head", int64(1-i%3)).Err(),
				)
			},
			"not readable": func(int) {
				for _, actor := range append(actors, uuid.Nil) {
					require.NoError(
						t, raw.HSet(context.Background(), "livegraph:undo:"+w.workspace.String(), actor.String(), "nonsense").Err(),
					)
				}
			},
		} {
			w.workspace, depths = w.newWorkspace(), nil
			run(lose)
			require.Equal(t, want, depths, name)
		}
	})
}

func TestTheFenceGoesBackWhereTheLogLostItsEnd(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		consumer := w.consume()
		for range 5 {
			w.do(node("a"))
		}
		consumer.stop()
		// As if 10 records more had been decided that the log has no more.
		_, err := w.look.Exec(context.Background(), `UPDATE command_offsets SET next_offset = next_offset + 10`)
		require.NoError(t, err)
		require.NoError(t, commands.ResolveOffsets(context.Background(), w.log, w.graph, w.logger))
		require.Equal(t, 5, w.number(`SELECT sum(next_offset) FROM command_offsets`))
		w.consume()
		require.Equal(t, int64(6), w.do(node("b")).GetSequence())
	})
}

func TestConnectionsThatPostgresEndsAreMadeAgain(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		w.consume()
		require.Nil(t, w.do(node("a")).GetFailure())
		_, err := w.look.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND datname = current_database() AND usename = current_user`)
		require.NoError(t, err)
		require.Nil(t, w.do(node("b")).GetFailure())
		require.Equal(t, 2, w.number(`SELECT max(sequence) FROM journal`))
	})
}
