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

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func TestARecordThatIsThereTwiceIsDoneOnceAndAnsweredTwice(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		request := f.request(graphrecord.Single, node("pump"))
		f.produce(request) // both are in the first group
		replies, stop := f.replies.Await(request.ID)
		defer stop()
		f.produce(request)
		f.consume()
		first := <-replies
		f.eventually("both are decided", func() bool {
			return f.queryInt(`SELECT sum(next_offset) FROM command_offsets`) == 2
		})
		require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM journal`))
		before := f.dump()

		outcome := f.submit(request)
		require.Nil(t, outcome.GetResults()[0].GetFailure())
		again, err := graphrecord.EncodeOutcome(outcome)
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.Equal(t, before, f.dump())
	})
}

func TestReadingTheLogAgainFromTheStartChangesNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		consumer := f.consume()
		a, b := node("a"), node("b")
		f.do(a)
		f.submit(f.request(graphrecord.Atomic, b, edge(a.ID, b.ID)))
		f.do(a) // refused
		f.do(graph.DeleteNode{ID: a.ID})
		f.do(graph.Undo{})
		consumer.stop()
		before := f.dump()

		_, err := f.conn.Exec(context.Background(), `UPDATE command_offsets SET next_offset = 0`)
		require.NoError(t, err)
		f.consume()
		f.eventually("all records are read again", func() bool {
			return f.queryInt(`SELECT sum(next_offset) FROM command_offsets`) == 5
		})
		require.Equal(t, before, f.dump())
		require.Equal(t, int64(6), f.do(node("c")).GetSequence()+1, "the journal continues")
	})
}

func TestOfTwoConsumersOfOnePartitionTheStaleOneCommitsNothing(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		const requests = 400
		var all []*graphrecord.Request
		for range requests {
			r := f.request(graphrecord.Single, node("pump"))
			all = append(all, r)
		}
		// In another group Kafka assigns all partitions to the second consumer, too.
		f.consume()
		f.config.Group = "commands-impostor"
		f.consume()
		for _, r := range all {
			f.produce(r)
		}
		for _, r := range all {
			f.eventually("every command has an outcome", func() bool { return f.stored(r) != nil })
			require.Nil(t, f.stored(r).GetResults()[0].GetFailure())
		}
		require.Equal(t, requests, f.queryInt(`SELECT count(*) FROM journal`))
		require.Equal(t, requests, f.queryInt(`SELECT max(sequence) FROM journal`))
		require.Equal(t, requests, f.queryInt(`SELECT count(DISTINCT command_id) FROM journal`))
		require.Equal(t, requests, f.queryInt(`SELECT standing FROM graph_totals WHERE kind = 1`))
	})
}

// TestAConsumerWithNothingLeftToDoIsNotBehind tests that the offset of the last record is
// committed, although offsets are committed at intervals and no record follows.
func TestAConsumerWithNothingLeftToDoIsNotBehind(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.consume()
	for range 10 { // one by one; all but the first are decided within one commit interval
		r := f.request(graphrecord.Single, node("pump"))
		f.produce(r)
		f.eventually("it is decided", func() bool { return f.stored(r) != nil })
	}
	f.eventually("all is committed", func() bool {
		seen, err := f.log.ObserveTopic(t.Context(), kafka.TopicCommands)
		require.NoError(t, err)
		return !slices.ContainsFunc(seen.State, func(p kafka.PartitionState) bool {
			return p.End > max(p.Committed, p.Start)
		})
	})
}

// responseDropper is a proxy in front of Postgres that can drop the response to a commit.
type responseDropper struct {
	net.Listener
	server   string
	dropNext atomic.Bool
	dropped  atomic.Int64
}

func newResponseDropper(t *testing.T, server string) *responseDropper {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &responseDropper{Listener: listener, server: server}
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

func (c *responseDropper) serve(client net.Conn) {
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
		// The responses to "update graph_heads" and "commit" arrive together.
		if bytes.Contains(buffer[:n], []byte("COMMIT\x00")) && c.dropNext.CompareAndSwap(true, false) {
			c.dropped.Add(1)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func TestACommitWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		address, err := url.Parse(f.url)
		require.NoError(t, err)
		proxy := newResponseDropper(t, address.Host)
		address.Host = proxy.Addr().String()
		proxied, err := stores.Open(context.Background(), address.String(), 4)
		require.NoError(t, err)
		t.Cleanup(proxied.Close)
		direct := f.graph
		f.graph = proxied
		f.consume()
		f.graph = direct

		require.Nil(t, f.do(node("a")).GetFailure())
		for i := range 3 {
			proxy.dropNext.Store(true)
			made := f.do(node(fmt.Sprint(i)))
			require.Nil(t, made.GetFailure())
			require.Equal(t, int64(i+2), made.GetSequence())
			require.Equal(t, int32(i+2), made.GetUndoDepth())
		}
		require.Positive(t, proxy.dropped.Load())
		require.Equal(t, 4, f.queryInt(`SELECT count(*) FROM journal`))
	})
}

func TestAnUnreadableRecordBecomesADeadLetterAndThePartitionContinues(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		require.NoError(t, f.log.ProduceCommand(context.Background(), kafka.Record{
			Workspace: f.workspace, Value: []byte("no request"), RequestID: "req_x",
		}))
		require.Nil(t, f.do(node("a")).GetFailure())
		deadLetters := f.readTopic(f.log.Topic(kafka.TopicCommands).Name+".dlq", 1)
		require.Len(t, deadLetters, 1)
		require.Equal(t, "no request", string(deadLetters[0].Value))
		require.Contains(t, string(kafka.Header(deadLetters[0], kafka.HeaderError)), "unreadable")
		require.Equal(t, "req_x", string(kafka.Header(deadLetters[0], kafka.HeaderRequestID)))
	})
}

func TestACommandThatTheDatabaseRefusesFailsAlone(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		_, err := f.conn.Exec(context.Background(), `ALTER TABLE nodes ADD CHECK (name <> 'poison')`)
		require.NoError(t, err)
		_, err = f.conn.Exec(context.Background(), `INSERT INTO webhooks (id, workspace_id, name, url, events, secret)
			VALUES (gen_random_uuid(), $1, 'w', 'https://hooks.example.com', '{commands.dead}', 'x')`, f.workspace)
		require.NoError(t, err)
		var all []*graphrecord.Request
		poison := 13
		for i := range 40 {
			payload := node("pump")
			if i == poison {
				payload.Name = "poison"
			}
			all = append(all, f.request(graphrecord.Single, payload))
			f.produce(all[i])
		}
		f.consume()
		for i, r := range all {
			f.eventually("every command has an outcome", func() bool { return f.stored(r) != nil })
			outcome := f.stored(r)
			if i == poison {
				require.Equal(t, fault.Internal.String(), outcome.GetFailure().GetKind())
				require.NotContains(t, outcome.GetFailure().GetMessage(), "check")
			} else {
				require.Nil(t, outcome.GetResults()[0].GetFailure())
			}
		}
		deadLetters := f.readTopic(f.log.Topic(kafka.TopicCommands).Name+".dlq", 1)
		decoded, err := graphrecord.DecodeRequest(deadLetters[0].Value)
		require.NoError(t, err)
		require.Equal(t, all[poison].ID, decoded.ID)
		require.Equal(t, 1, f.queryInt(`SELECT count(*) FROM webhook_deliveries WHERE event_type = 'commands.dead'`))
		require.Equal(t, 39, f.queryInt(`SELECT max(sequence) FROM journal`))
	})
}

// TestABatchThatTheDatabaseRefusesFailsAloneWhateverIsDecidedMeanwhile uses batches so large that
// each is written while the next is decided.
func TestABatchThatTheDatabaseRefusesFailsAloneWhateverIsDecidedMeanwhile(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		_, err := f.conn.Exec(context.Background(), `ALTER TABLE nodes ADD CHECK (name <> 'poison')`)
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
			all = append(all, f.request(graphrecord.Atomic, actions...))
			f.produce(all[i])
		}
		f.consume()
		for i, r := range all {
			f.eventually("every batch has an outcome", func() bool { return f.stored(r) != nil })
			failed := f.stored(r).GetFailure() != nil
			require.Equal(t, i == poison, failed, i)
		}
		require.Equal(t, (batches-1)*inBatch, f.queryInt(`SELECT count(*) FROM nodes`))
		require.Equal(t, batches-1, f.queryInt(`SELECT count(*) FROM journal`))
		deadLetters := f.readTopic(f.log.Topic(kafka.TopicCommands).Name+".dlq", 1)
		decoded, err := graphrecord.DecodeRequest(deadLetters[0].Value)
		require.NoError(t, err)
		require.Equal(t, all[poison].ID, decoded.ID)
	})
}

func TestACommandThatCannotBeDecidedFailsAlone(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		f.do(node("a"))
		_, err := f.conn.Exec(context.Background(), `UPDATE journal SET change = '\x00'`)
		require.NoError(t, err)
		undo := f.request(graphrecord.Single, graph.Undo{})
		other := f.request(graphrecord.Single, node("b"))
		f.produce(undo)
		f.produce(other)
		f.eventually("both have an outcome", func() bool { return f.stored(undo) != nil && f.stored(other) != nil })
		require.Equal(t, fault.Internal.String(), f.stored(undo).GetFailure().GetKind())
		require.Nil(t, f.stored(other).GetResults()[0].GetFailure())
		require.Equal(t, 2, f.queryInt(`SELECT max(sequence) FROM journal`))
	})
}

func TestTheFenceMovesBackWhereTheLogLostItsEnd(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		consumer := f.consume()
		for range 5 {
			f.do(node("a"))
		}
		consumer.stop()
		// As if 10 more records had been decided that the log no longer contains.
		_, err := f.conn.Exec(context.Background(), `UPDATE command_offsets SET next_offset = next_offset + 10`)
		require.NoError(t, err)
		require.NoError(t, commands.ResolveOffsets(context.Background(), f.log, f.graph, f.logger))
		require.Equal(t, 5, f.queryInt(`SELECT sum(next_offset) FROM command_offsets`))
		f.consume()
		require.Equal(t, int64(6), f.do(node("b")).GetSequence())
	})
}

func TestConnectionsThatPostgresEndsAreMadeAgain(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		require.Nil(t, f.do(node("a")).GetFailure())
		_, err := f.conn.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND datname = current_database() AND usename = current_user`)
		require.NoError(t, err)
		require.Nil(t, f.do(node("b")).GetFailure())
		require.Equal(t, 2, f.queryInt(`SELECT max(sequence) FROM journal`))
	})
}
