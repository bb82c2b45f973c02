package contract_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// commandState is the reported state of a command.
type commandState struct {
	CommandID, Status string
	Result            *struct {
		commandResult
		BatchID string
		Results []struct{ Status string }
	}
	Error *contract.Problem
}

func (w *writer) state(t testing.TB, id string) commandState {
	t.Helper()
	return decode[commandState](t, w.Do(t, contract.Request{Path: "/api/commands/" + id}), http.StatusOK)
}

func TestWhatCameOfACommandCanBeAsked(t *testing.T) {
	t.Parallel()
	w := startCommands(t)
	made := w.mustExecute(t, createNode("a"))
	got := w.state(t, made.CommandID)
	require.Equal(t, []any{made.CommandID, "applied"}, []any{got.CommandID, got.Status})
	require.Equal(t, made, got.Result.commandResult)
	require.Nil(t, got.Error)
	require.Equal(t, got, w.state(t, strings.ToUpper(made.CommandID)))

	batch := decode[batchResult](
		t, w.batch(t, batchOf(false, createNode("b"), deleteNode(uuid.NewString()))), http.StatusOK,
	)
	got = w.state(t, batch.BatchID)
	require.Equal(t, []any{"applied", batch.BatchID, "applied", "failed"}, []any{
		got.Status, got.Result.BatchID, got.Result.Results[0].Status, got.Result.Results[1].Status,
	})

	for _, id := range []string{
		uuid.NewString(), uuid.Must(uuid.NewV7()).String(), "no-uuid", strings.Repeat("a", 1000), made.Node.ID,
	} {
		w.Do(t, contract.Request{Path: "/api/commands/" + id}).RequireFailure(
			t, http.StatusNotFound, "NOT_FOUND", "No such command", nil,
		)
	}
	w.Do(t, contract.Request{Path: "/api/commands/" + made.CommandID + "?x=1"}).RequireFailure(
		t, http.StatusBadRequest, validation, "", map[string]any{"field": "x"},
	)
}

func TestACommandThatTakesTooLongMayStillApply(t *testing.T) {
	t.Parallel()
	w := startCommandsWith(t, &contract.Commands{WithoutConsumer: true})
	send := func(path, prefer, body string) *contract.Answer {
		return w.Do(t, contract.Request{
			Method: http.MethodPost, Path: path, Body: body, Header: map[string]string{"Prefer": prefer},
		})
	}
	began := time.Now()
	late := send(executePath, "wait=1", createNode("a"))
	require.Less(t, time.Since(began), 9*time.Second)
	late.RequireFailure(t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "", nil)
	require.Equal(t, "wait=1", late.Header.Get("Preference-Applied"))
	refused := send(executePath, "respond-async, wait=0", deleteNode(uuid.NewString()))
	batch := send(batchPath, "wait=0", batchOf(true, createNode("b"), createNode("c")))
	var ids []string
	for _, a := range []*contract.Answer{late, refused, batch} {
		a.RequireFailure(t, http.StatusGatewayTimeout, "INTERNAL_ERROR", "", nil)
		id := a.Error.Details["commandId"].(string)
		require.Equal(t, "pending", w.state(t, id).Status)
		ids = append(ids, id)
	}
	w.RunConsumer(t, w.Server)
	require.Eventually(t, func() bool {
		return w.state(t, ids[2]).Status == "applied"
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "a", w.state(t, ids[0]).Result.Node.Name)
	require.Len(t, w.state(t, ids[2]).Result.Results, 2)
	failed := w.state(t, ids[1])
	require.Equal(t, "failed", failed.Status)
	require.Nil(t, failed.Result)
	require.Equal(
		t, contract.Problem{Code: "NOT_FOUND", Message: "Node not found", Details: map[string]any{"field": "payload.id"}},
		*failed.Error,
	)

	long := send(executePath, "wait=3600", createNode("d"))
	require.Equal(t, http.StatusCreated, long.Status)
	require.Equal(t, "wait=30", long.Header.Get("Preference-Applied"))
	require.Empty(t, w.execute(t, createNode("e")).Header.Get("Preference-Applied"))
	require.Empty(t, send(executePath, "handling=strict", createNode("f")).Header.Get("Preference-Applied"))
	for _, prefer := range []string{"wait", "wait=x", "wait=-1", "wait=1.5"} {
		send(executePath, prefer, createNode("g")).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "Prefer"},
		)
	}
}

func TestWithoutTheLogACommandIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	broker := kafkatest.NewKFake(t)
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), BufferedBytes: 64 << 20,
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: 4, Replication: -1, RetentionBytes: 64 << 20,
	}))
	w := startCommandsWith(t, &contract.Commands{Log: log})
	q := withIdempotencyKey(executePath, "k", createNode("a"))
	broker.Stop(t)
	require.Eventually(t, func() bool { return !log.Healthy() }, time.Minute, time.Millisecond)
	began := time.Now()
	refused := w.Do(t, q)
	refused.RequireFailure(t, http.StatusServiceUnavailable, "INTERNAL_ERROR", "", nil)
	require.Less(t, time.Since(began), 3*time.Second)
	id := refused.Error.Details["commandId"].(string)
	require.Equal(t, "pending", w.state(t, id).Status, "nobody knows better")

	broker.Start(t)
	var a *contract.Answer
	require.Eventually(t, func() bool {
		a = w.Do(t, q)
		return a.Status == http.StatusCreated
	}, time.Minute, 50*time.Millisecond)
	require.Equal(
		t, id, decode[commandResult](t, a, http.StatusCreated).CommandID, "the retry goes on with the same command",
	)
	require.Equal(t, "applied", w.state(t, id).Status)
}

// lossyLog accepts commands and loses them, as if the process crashed before it produced them.
type lossyLog struct {
	*kafka.Client
	lost    []kafka.Record
	working bool
}

func (l *lossyLog) ProduceCommand(ctx context.Context, r kafka.Record) error {
	if l.working {
		return l.Client.ProduceCommand(ctx, r)
	}
	l.lost = append(l.lost, r)
	return fault.New(fault.Unavailable, "Kafka is away").After(time.Second)
}

func TestACommandThatDidNotReachTheLogIsSettled(t *testing.T) {
	t.Parallel()
	log := contract.OpenLog(t, kafkatest.NewKFake(t))
	lossy := &lossyLog{Client: log}
	group := &contract.Commands{Log: log, WithoutConsumer: true, Change: func(d *commands.Deps) {
		d.Log, d.AbandonAfter = lossy, time.Millisecond
	}}
	w := startCommandsWith(t, group)
	send := func(body string) string {
		a := w.execute(t, body)
		a.RequireFailure(t, http.StatusServiceUnavailable, "INTERNAL_ERROR", "", nil)
		return a.Error.Details["commandId"].(string)
	}
	first := send(createNode("a"))
	// Another command is in the log, and no consumer runs.
	waiting := lossy.lost[0]
	require.NoError(t, log.ProduceCommand(t.Context(), waiting))
	require.Equal(t, "pending", w.state(t, first).Status, "what is in the log may be this one")
	w.RunConsumer(t, w.Server)
	require.Eventually(t, func() bool {
		return w.state(t, first).Status == "applied"
	}, time.Minute, 10*time.Millisecond)

	second := send(createNode("b"))
	var settled commandState
	require.Eventually(t, func() bool {
		settled = w.state(t, second)
		return settled.Status != "pending"
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "failed", settled.Status)
	require.Equal(
		t, contract.Problem{Code: "INTERNAL_ERROR", Message: "The command did not reach the log: send it again"},
		*settled.Error,
	)
	// Its record arrives late: the reported outcome stays.
	require.NoError(t, log.ProduceCommand(t.Context(), lossy.lost[1]))
	third := send(createNode("c"))
	require.NoError(t, log.ProduceCommand(t.Context(), lossy.lost[2]))
	require.Eventually(t, func() bool {
		return w.state(t, third).Status == "applied"
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, settled, w.state(t, second))
	// With its idempotency key the request is executed again, as another command.
	repeatable := withIdempotencyKey(executePath, "k", createNode("d"))
	fourth := w.Do(t, repeatable).Error.Details["commandId"].(string)
	require.Eventually(t, func() bool {
		return w.state(t, fourth).Status == "failed"
	}, time.Minute, 10*time.Millisecond)
	lossy.working = true
	again := decode[commandResult](t, w.Do(t, repeatable), http.StatusCreated)
	require.NotEqual(t, fourth, again.CommandID)
	require.Equal(t, "failed", w.state(t, fourth).Status)
	var nodes []resource
	require.EqualValues(t, 3, w.Get(t, "/api/queries/nodes", &nodes).Meta.Total)
}

func TestWithoutRedisCommandsAreAnsweredAllTheSame(t *testing.T) {
	t.Parallel()
	engine := testenv.StoppableRedis(t)
	db, err := redis.Open(t.Context(), redis.Options{URL: engine.Address()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	w := startCommandsWith(t, &contract.Commands{Redis: db})
	id := w.newNode(t, "a")
	w.mustExecute(t, updateNode(id, `"name":"b"`))
	require.NoError(t, engine.Stop(t.Context()))
	require.Equal(t, 2, w.mustExecute(t, createNode("c")).UndoDepth-1, "undo stacks are rebuilt from the journal")
	w.mustExecute(t, undo)
	w.mustExecute(t, undo)
	require.Equal(t, "a", w.readNode(t, id).Name)
	require.NoError(t, engine.Start(t.Context()))
	require.Equal(t, "b", w.mustExecute(t, redo).Node.Name)
}
