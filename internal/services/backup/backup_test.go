package backup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/backup"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/chtest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const retention = 64 << 20

// installation has the stores of a test installation.
type installation struct {
	t *testing.T
	backup.Stores
	points string // URL of ClickHouse
}

// newInstallation returns an installation with empty stores.
func newInstallation(t *testing.T, k *kafkatest.Broker) *installation {
	t.Helper()
	s := &installation{t: t, points: chtest.Migrated(t)}
	var err error
	s.Postgres, err = stores.Open(t.Context(), pgtest.Migrated(t), 4)
	require.NoError(t, err)
	t.Cleanup(s.Postgres.Close)
	s.ClickHouse, err = chtest.Open(t.Context(), s.points)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.ClickHouse.Close() })
	s.Kafka, err = kafka.Open(t.Context(), kafka.Options{
		Brokers: k.Brokers(), Security: k.Security(), TopicPrefix: fmt.Sprintf("%s%s-", k.Prefix, uuid.NewString()[:8]),
		BufferedBytes: 64 << 20, ProduceTimeout: time.Minute,
		PointsGroup: "points", CommandsGroup: "commands", AuditGroup: "audit", Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(s.Kafka.Close)
	return s
}

// migrate creates the schemas and topics, and returns s.
func (s *installation) migrate() *installation {
	s.t.Helper()
	require.NoError(s.t, s.Postgres.Migrate(s.t.Context()))
	require.NoError(s.t, s.ClickHouse.Migrate(s.t.Context()))
	require.NoError(s.t, s.Kafka.EnsureTopics(s.t.Context(), kafka.TopicSettings{
		Partitions: 2, CommandsPartitions: 3, Replication: 1, RetentionBytes: retention,
	}))
	require.Eventually(s.t, func() bool { // a broker has no groups for a while after its start
		_, err := s.Kafka.Observe(s.t.Context())
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	return s
}

// observe returns a function that returns the state of a topic, with the given start offset.
func (s *installation) observe(topic string, start int64) func(context.Context) (postgres.LogState, error) {
	return func(ctx context.Context) (postgres.LogState, error) {
		seen, err := s.Kafka.ObserveTopic(ctx, topic)
		state := postgres.LogState{TopicID: seen.ID}
		for _, p := range seen.State {
			state.Partitions = append(state.Partitions, postgres.LogPartition{Start: start, End: p.End, ReplacedFrom: -1})
		}
		return state, err
	}
}

// records returns all records of a topic by partition, in the order of their offsets.
func (s *installation) records(label string) map[int32][]*kgo.Record {
	s.t.Helper()
	found, err := s.Kafka.Overviews(s.t.Context(), label)
	require.NoError(s.t, err)
	spans := map[int32]kafka.Span{}
	for _, p := range found[0].Partitions {
		spans[p.Partition] = kafka.Span{From: p.Start, To: p.End}
	}
	all := map[int32][]*kgo.Record{}
	require.NoError(s.t, s.Kafka.ReadSpans(s.t.Context(), found[0].Name, spans, func(r *kgo.Record) error {
		all[r.Partition] = append(all[r.Partition], r)
		return nil
	}))
	return all
}

func valuesOf(records []*kgo.Record) (values []string) {
	for _, r := range records {
		values = append(values, string(r.Value))
	}
	return values
}

// newFilledInstallation returns an installation with data and without consumers: two of three
// point records of partition 0 are stored, and two of four commands are decided.
func newFilledInstallation(t *testing.T, k *kafkatest.Broker) (*installation, uuid.UUID) {
	t.Helper()
	s, ctx := newInstallation(t, k).migrate(), t.Context()
	_, err := s.Postgres.Installation(ctx)
	require.NoError(t, err)
	workspace, err := s.Postgres.CreateWorkspace(ctx, access.Workspace{Name: "a\tb\n\\", Plan: "starter", Mode: "live"})
	require.NoError(t, err)
	_, _, err = s.Postgres.ResolveGenerations(ctx, "points", s.observe("points", 0))
	require.NoError(t, err)
	for i := range 3 {
		_, err := s.Kafka.ProducePoints(ctx, "req_1", []pointblock.Message{
			{Partition: 0, Key: []byte("k"), Value: fmt.Append(nil, "p0-", i)}, {Partition: 1, Value: fmt.Append(nil, "p1-", i)},
		})
		require.NoError(t, err)
	}
	require.NoError(t, s.Postgres.AdvanceWatermarks(ctx, s.Kafka.PointsTopic().ID, map[int32]int64{0: 2}))
	require.NoError(t, s.ClickHouse.InsertPoints(ctx, &clickhouse.PointColumns{
		Series: native.RunsOf(1, 1, 1<<63), TS: []int64{1_795_246_810_123_457, 1_795_246_810_123_457, 5},
		Values: []float64{1, 2, 0.1}, Versions: native.RunsOf(1, 2, 1),
	}))
	for i := range 4 {
		require.NoError(t, s.Kafka.ProduceCommand(ctx, kafka.Record{
			Workspace: workspace.ID, Value: fmt.Append(nil, "c", i), RequestID: "req_2",
		}))
	}
	_, _, err = s.Postgres.ResolveCommandOffsets(ctx, s.observe("graph.commands", 2))
	require.NoError(t, err)
	s.writeDeadLetters(workspace.ID)
	require.NoError(t, s.recordOperatorAct())
	return s, workspace.ID
}

// writeDeadLetters writes three dead letters, one of which is discarded.
func (s *installation) writeDeadLetters(workspace uuid.UUID) {
	s.t.Helper()
	ctx := s.t.Context()
	records := s.records("points")[0]
	var letters []kafka.DeadLetter
	for i := range 3 {
		letters = append(letters, kafka.DeadLetter{Record: records[i], Version: uint64(100 + i), Reason: "for the test"})
	}
	require.NoError(s.t, s.Kafka.ProduceDeadLetters(ctx, letters))
	found, err := s.Kafka.Overviews(ctx, "points.dlq")
	require.NoError(s.t, err)
	require.NoError(s.t, s.Postgres.MarkDeadLetters(ctx, found[0].ID, []jobs.LogPosition{{Offset: 1}}, jobs.DeadLetterMark{
		State: jobs.DeadLetterDiscarded, MarkedBy: workspace.String(), Reason: "nonsense",
	}))
}

// recordOperatorAct records an act of an operator, with the next number of the sequence.
func (s *installation) recordOperatorAct() error {
	_, err := s.Postgres.BeginOperatorAct(s.t.Context(), access.OperatorAct{
		RequestID: "req_3", OperatorName: "ops", Method: "POST", Route: "/", UserAgent: "u",
	})
	return err
}

func (s *installation) take(dir string) (*backup.Manifest, error) {
	return backup.Take(s.t.Context(), s.Stores, backup.TakeOptions{Dir: dir, Version: "test"})
}

func (s *installation) restore(dir string) error {
	m, err := backup.Check(s.t.Context(), dir, nil)
	if err != nil {
		return err
	}
	return backup.Restore(s.t.Context(), s.Stores, m, backup.RestoreOptions{Dir: dir, Topics: kafka.TopicSettings{
		Replication: 1, RetentionBytes: retention,
	}})
}

const pointsDump = "SELECT series, toString(ts), value, version FROM points FINAL ORDER BY series, ts"

func TestWhatNobodyWasDoneWithIsInTheLogAgain(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, k *kafkatest.Broker) {
		a, workspace := newFilledInstallation(t, k)
		dir := filepath.Join(t.TempDir(), "b")
		_, err := a.take(dir)
		require.NoError(t, err)
		b := newInstallation(t, k)
		require.NoError(t, b.restore(dir))

		points := b.records("points")
		require.Equal(t, []string{"p0-2"}, valuesOf(points[0]), "those below the watermark are in ClickHouse")
		require.Equal(t, []string{"p1-0", "p1-1", "p1-2"}, valuesOf(points[1]), "all of a partition without a watermark")
		original := a.records("points")[0][2]
		got := points[0][0]
		require.Equal(t, original.Key, got.Key)
		require.Equal(t, original.Timestamp.UnixMilli(), got.Timestamp.UnixMilli())
		require.Equal(t, "req_1", string(kafka.Header(got, kafka.HeaderRequestID)))
		require.Equal(
			t, strconv.FormatUint(pointblock.Version(1, 2), 10), string(kafka.Header(got, kafka.HeaderVersion)),
			"it has the version that it had",
		)
		commands := b.records("graph.commands")
		require.Equal(
			t, []string{"c2", "c3"}, valuesOf(commands[kafka.WorkspacePartition(workspace, 3)]),
			"those above the fence were not decided",
		)
		require.Equal(t, testenv.QueryClickHouse(t, a.points, pointsDump), testenv.QueryClickHouse(t, b.points, pointsDump))
		require.Equal(
			t, "2", testenv.QueryClickHouse(t, b.points, "SELECT count() FROM points"), "overwritten rows stay behind",
		)

		found, err := b.Postgres.WorkspacesByID(t.Context(), []uuid.UUID{workspace})
		require.NoError(t, err)
		require.Equal(t, "a\tb\n\\", found[0].Name)
		originalID, err := a.Postgres.Installation(t.Context())
		require.NoError(t, err)
		restoredID, err := b.Postgres.Installation(t.Context())
		require.NoError(t, err)
		require.Equal(t, originalID, restoredID, "fingerprints and checkpoints keep their keys")
		require.Len(t, b.records("points.dlq")[0], 3)
		letters, err := b.Kafka.Overviews(t.Context(), "points.dlq")
		require.NoError(t, err)
		marks, err := b.Postgres.DeadLetterMarks(t.Context(), letters[0].ID, []jobs.LogPosition{
			{Offset: 0}, {Offset: 1}, {Offset: 2},
		})
		require.NoError(t, err)
		require.Len(t, marks, 1)
		require.Equal(t, "nonsense", marks[jobs.LogPosition{Offset: 1}].Reason, "a mark is where its letter is now")
		require.NoError(t, b.Postgres.Migrate(t.Context()), "a server may start")
		require.NoError(t, b.recordOperatorAct(), "numbers go on where they were")
	})
}

func TestStoresThatAreNotEmptyAreLeftAlone(t *testing.T) {
	k := kafkatest.NewKFake(t)
	a, _ := newFilledInstallation(t, k)
	dir := filepath.Join(t.TempDir(), "b")
	_, err := a.take(dir)
	require.NoError(t, err)
	_, err = a.take(dir)
	require.True(t, fault.Is(err, fault.Conflict), "a backup requires an empty folder: %v", err)

	fresh := newInstallation(t, k)
	for name, stores := range map[string]backup.Stores{
		"Kafka":      {Postgres: fresh.Postgres, ClickHouse: fresh.ClickHouse, Kafka: a.Kafka},
		"ClickHouse": {Postgres: fresh.Postgres, ClickHouse: a.ClickHouse, Kafka: fresh.Kafka},
		"Postgres":   {Postgres: a.Postgres, ClickHouse: fresh.ClickHouse, Kafka: fresh.Kafka},
	} {
		err := (&installation{t: t, Stores: stores}).restore(dir)
		require.True(t, fault.Is(err, fault.Conflict), "%s: %v", name, err)
		require.ErrorContains(t, err, name+" is not empty")
	}
	require.NoError(t, a.Postgres.Migrate(t.Context()), "nothing was marked")
	require.NoError(t, fresh.restore(dir), "nor written")
	err = fresh.restore(dir)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
}

func TestARestoreThatBrokeOffIsNotServed(t *testing.T) {
	k := kafkatest.NewKFake(t)
	a, _ := newFilledInstallation(t, k)
	dir := filepath.Join(t.TempDir(), "b")
	m, err := a.take(dir)
	require.NoError(t, err)
	b := newInstallation(t, k)
	// Simulate a disk failure after the check.
	require.NoError(t, os.Truncate(filepath.Join(dir, "postgres", "workspaces.copy.zst"), 5))
	err = backup.Restore(t.Context(), b.Stores, m, backup.RestoreOptions{Dir: dir, Topics: kafka.TopicSettings{
		Replication: 1, RetentionBytes: retention,
	}})
	require.Error(t, err)
	err = b.Postgres.Migrate(t.Context())
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, "a restore into this database has begun and not ended")
}

func TestWhatIsNoWholeBackupIsRefused(t *testing.T) {
	k := kafkatest.NewKFake(t)
	a, _ := newFilledInstallation(t, k)
	good := filepath.Join(t.TempDir(), "good")
	_, err := a.take(good)
	require.NoError(t, err)
	manifest := func(t *testing.T, dir string, change func(map[string]any)) {
		path := filepath.Join(dir, "manifest.json")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var m map[string]any
		require.NoError(t, json.Unmarshal(text, &m))
		change(m)
		text, err = json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	for name, c := range map[string]struct {
		message string
		damage  func(t *testing.T, dir string)
	}{
		"a folder of something else": {"is not a backup of Livegraph", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o700))
		}},
		"one that was not finished": {"was not finished", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "manifest.json")))
		}},
		"another program's manifest": {"is not a backup of Livegraph", func(t *testing.T, dir string) {
			manifest(t, dir, func(m map[string]any) { m["product"] = "another" })
		}},
		"half a manifest": {"is not a backup of Livegraph", func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "manifest.json"), 100))
		}},
		"a format of the future": {"reads format 1", func(t *testing.T, dir string) {
			manifest(t, dir, func(m map[string]any) { m["format"] = 2 })
		}},
		"a manifest that was changed": {"manifest.json does not have the digest", func(t *testing.T, dir string) {
			manifest(t, dir, func(m map[string]any) { m["files"] = m["files"].([]any)[1:] })
		}},
		"a file that is missing": {"nodes.copy.zst is missing", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "postgres", "nodes.copy.zst")))
		}},
		"a file that was cut off": {"was cut off", func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "kafka", "points.records.zst"), 9))
		}},
		"a file that was changed": {"workspaces.copy.zst does not have the digest", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "postgres", "workspaces.copy.zst")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			text[len(text)/2] ^= 1
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "b")
			require.NoError(t, os.CopyFS(dir, os.DirFS(good)))
			c.damage(t, dir)
			_, err := backup.Check(t.Context(), dir, nil)
			require.True(t, fault.Is(err, fault.Invalid), "%v", err)
			require.ErrorContains(t, err, c.message)
		})
	}
	_, err = backup.Check(t.Context(), good, nil)
	require.NoError(t, err)
}
