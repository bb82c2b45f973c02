package ingest_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/ingest/routing"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
)

// environment is a pipeline with a real registry and log.
type environment struct {
	db        *stores.DB
	broker    *kafkatest.Broker
	workspace uuid.UUID
	pipeline  *ingest.Pipeline
}

func newEnvironment(t *testing.T, maxSeries int64) *environment {
	t.Helper()
	if testing.Short() {
		t.Skip("needs engines")
	}
	s := &environment{broker: kafkatest.NewKFake(t)}
	db, err := stores.Open(t.Context(), pgtest.Migrated(t), 8)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live", MaxSources: 100, MaxSeries: maxSeries,
	})
	require.NoError(t, err)
	s.db, s.workspace = db, w.ID
	s.pipeline = s.process(t, nil)
	return s
}

// process creates the pipeline of a process. If notice is not nil, the process does not use added
// partitions until notice returns nil.
func (s *environment) process(t *testing.T, notice func() error) *ingest.Pipeline {
	t.Helper()
	var log *kafka.Client
	log, err := kafka.Open(t.Context(), kafka.Options{
		Brokers: s.broker.Brokers(), Security: s.broker.Security(), BufferedBytes: 64 << 20, PointsGroup: "points",
		OnTopicChange: func(ctx context.Context, info kafka.TopicInfo) error {
			if notice != nil && info.Partitions > 4 {
				if err := notice(); err != nil {
					return err
				}
			}
			return points.ResolveGenerations(ctx, log, s.db, slog.Default())
		},
	})
	require.NoError(t, err)
	t.Cleanup(log.Close)
	require.NoError(t, log.EnsureTopics(t.Context(), kafka.TopicSettings{
		Partitions: 4, Replication: -1, RetentionBytes: 256 << 20,
	}))
	routes := routing.New(routing.Deps{Leases: s.db, Topic: points.Topic, Seen: func() ([16]byte, int32) {
		topic := log.PointsTopic()
		return topic.ID, topic.Partitions
	}})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = routes.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return ingest.New(ingest.Deps{Sources: s.db, Registry: s.db, Log: log, Routes: routes, FingerprintKey: [16]byte{7}})
}

func (s *environment) source(t *testing.T, name string) uuid.UUID {
	t.Helper()
	created, err := s.db.CreateSource(t.Context(), s.workspace, registry.Source{ID: uuid.New(), Name: name})
	require.NoError(t, err)
	return created.ID
}

func (s *environment) send(t *testing.T, body string) (ingest.Result, error) {
	t.Helper()
	return s.pipeline.Accept(t.Context(), ingest.JSON, ingest.Request{
		Workspace: s.workspace, RequestID: "req_7", ReceivedAt: time.Now(), Body: []byte(body),
	})
}

// read returns the records of the topic and requires at least n.
func (s *environment) read(t *testing.T, n int) []*kgo.Record {
	t.Helper()
	records := kafkatest.Records(t, s.broker, "points")
	require.GreaterOrEqual(t, len(records), n)
	return records
}

func TestPointsReachTheLogWithTheIdsOfTheRegistry(t *testing.T) {
	s := newEnvironment(t, 3)
	a, b := s.source(t, "a"), s.source(t, "b")
	body := fmt.Sprintf(
		`{"metric":"m","points":[{"sourceId":"%s","value":1,"tags":{"k":"\u00e9"}},{"source":"b","value":2},
		{"source":"b","value":"on"},{"source":"c","value":3},{"source":"a","value":4}]}`, a,
	)
	for range 2 { // new series, then cached ones
		result, err := s.send(t, body)
		require.NoError(t, err)
		require.Equal(t, 3, result.Accepted)
		require.Equal(t, 2, result.Rejected, "%+v", result.Errors)
	}
	partitions := map[int32]bool{pointblock.Partition(a, 4): true, pointblock.Partition(b, 4): true}
	points := 0
	for _, record := range s.read(t, 2*len(partitions)) {
		require.True(t, partitions[record.Partition])
		require.Equal(t, "req_7", string(kafka.Header(record, kafka.HeaderRequestID)))
		var block pointblock.Record
		require.NoError(t, pointblock.Decode(record.Value, &block))
		require.Equal(t, s.workspace, block.Workspace)
		for i := range block.Spans {
			span := &block.Spans[i]
			points += span.Count
			id := span.Identity(&block)
			ids, ok, err := s.db.RegisterSeries(
				t.Context(), s.workspace, []pointblock.Identity{id}, []pointblock.Fingerprint{span.Fingerprint},
			)
			require.NoError(t, err)
			require.Equal(t, []bool{true}, ok)
			require.Equal(t, ids[0], span.SeriesID)
		}
	}
	require.Equal(t, 6, points)
}

func TestAMillionPointsOfOneSeriesFitThroughTheLog(t *testing.T) {
	s := newEnvironment(t, 10)
	s.source(t, "a")
	var times, values strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&times, ",%d", i)
		fmt.Fprintf(&values, ",%d", i%100)
	}
	result, err := s.send(
		t,
		`{"source":"a","metric":"m","series":[{"timestamps":[`+times.String()[1:]+`],"values":[`+values.String()[1:]+`]}]}`,
	)
	require.NoError(t, err)
	require.Equal(t, 1_000_000, result.Accepted)
	points, next := 0, int64(0)
	for _, record := range s.read(t, len(result.Positions)) {
		var block pointblock.Record
		require.NoError(t, pointblock.Decode(record.Value, &block))
		points += block.Spans[0].Count
		require.Equal(t, next, block.Spans[0].FirstUS)
		next = block.Spans[0].LastUS + 1000
	}
	require.Equal(t, 1_000_000, points)
}

func TestADeletedSourceTakesNoNewSeries(t *testing.T) {
	s := newEnvironment(t, 10)
	id := s.source(t, "a")
	_, err := s.send(t, `{"source":"a","metric":"m","points":[{"value":1}]}`)
	require.NoError(t, err)
	_, err = s.db.DeleteSource(t.Context(), s.workspace, id, "req_8")
	require.NoError(t, err)
	_, err = s.send(t, `{"source":"a","metric":"another","points":[{"value":1}]}`)
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, fault.Invalid, fe.Kind)
	require.Equal(t, "is not a source of this workspace", fe.Details["reason"])
}
