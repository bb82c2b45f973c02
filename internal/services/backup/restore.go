package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/dump"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Bounds of what is written into Kafka at once.
const (
	refillRecords = 200
	refillBytes   = 16 << 20
	// logShare is how much of what a partition keeps its records may take: retention
	// counts more than their bytes.
	logShare = 0.8

	topicsLimit = time.Minute // for brokers to know of the topics that were made
	topicsPause = 100 * time.Millisecond
)

// RestoreOptions say what is restored.
type RestoreOptions struct {
	Dir string
	// Topics are how topics are made; the backup says with how many partitions.
	Topics   kafka.TopicSettings
	Progress func(Progress) // may be nil
}

// Restore fills empty stores from a backup that Check has found good, and refuses
// others with fault.Conflict before it writes anything. Postgres is marked first and
// set free last: no server starts on what a restore has left half-way.
func Restore(ctx context.Context, stores Stores, m *Manifest, o RestoreOptions) error {
	r := &restoring{Stores: stores, dir: o.Dir, manifest: m, settings: o.Topics, meter: newMeter(o.Progress, m.Bytes())}
	partitions, err := r.partitions()
	if err != nil {
		return err
	}
	if err := stores.Kafka.RequireEmpty(ctx, partitions); err != nil {
		return err
	}
	if err := dump.New(stores.ClickHouse).RequireEmpty(ctx); err != nil {
		return err
	}
	if err := stores.Postgres.BeginRestore(ctx, m.Schemas.Postgres); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		r.fillClickHouse, r.fillKafka, r.fillPostgres, r.deleteOnceMore, stores.Postgres.EndRestore,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restoring is a restore under way.
type restoring struct {
	Stores
	dir      string
	manifest *Manifest
	settings kafka.TopicSettings
	meter    *meter
	letters  []jobs.LetterPlace
}

// partitions returns with how many partitions topics are made, and looks whether what is
// to go into them is less than they keep.
func (r *restoring) partitions() (map[string]int32, error) {
	counts := map[string]int32{}
	for _, t := range r.manifest.Topics {
		counts[t.Topic] = int32(len(t.Partitions))
		for p, part := range t.Partitions {
			if part.Bytes > int64(logShare*float64(r.settings.RetentionBytes)) {
				return nil, fault.Newf(
					fault.Invalid,
					"partition %d of topic %s gets %d bytes of records, and --kafka-retention-bytes keeps %d: set it to at least %d",
					p, t.Topic, part.Bytes, r.settings.RetentionBytes, int64(float64(part.Bytes)/logShare)+1,
				)
			}
		}
	}
	r.settings.Partitions, r.settings.CommandsPartitions = counts[kafka.TopicPoints], counts[kafka.TopicCommands]
	// The others are made with as many as these, and their records go where they can.
	return map[string]int32{
		kafka.TopicPoints: counts[kafka.TopicPoints], kafka.TopicCommands: counts[kafka.TopicCommands],
	}, nil
}

func (r *restoring) fillClickHouse(ctx context.Context) error {
	if err := r.ClickHouse.MigrateTo(ctx, r.manifest.Schemas.ClickHouse); err != nil {
		return err
	}
	for _, f := range r.manifest.of(storeClickHouse) {
		if f.Part == nil {
			return errManifest(f)
		}
		err := r.read(f, func(from io.Reader) error {
			return dump.New(r.ClickHouse).Load(ctx, *f.Part, f.Rows, from, r.meter.rows)
		})
		if err != nil {
			return err
		}
	}
	return r.ClickHouse.Migrate(ctx)
}

func (r *restoring) fillKafka(ctx context.Context) error {
	if err := r.Kafka.EnsureTopics(ctx, r.settings); err != nil {
		return err
	}
	topics, err := r.awaitTopics(ctx)
	if err != nil {
		return err
	}
	for _, f := range r.manifest.of(storeKafka) {
		o, there := topics[f.Topic]
		if !there {
			return errManifest(f)
		}
		if err := r.read(f, func(from io.Reader) error { return r.refill(ctx, o, f, from) }); err != nil {
			return err
		}
	}
	return nil
}

// awaitTopics waits until all topics that get records are known: brokers take a moment
// to tell each other of new ones.
func (r *restoring) awaitTopics(ctx context.Context) (map[string]kafka.Overview, error) {
	for deadline := time.Now().Add(topicsLimit); ; {
		made, err := r.Kafka.Overviews(ctx)
		topics := map[string]kafka.Overview{}
		for _, o := range made {
			topics[o.Label] = o
		}
		missing := slices.IndexFunc(r.manifest.Topics, func(t Topic) bool { return len(topics[t.Topic].Partitions) == 0 })
		if err == nil && missing < 0 {
			return topics, nil
		}
		if err == nil {
			err = fmt.Errorf("topic %s was made and is not there", r.manifest.Topics[missing].Topic)
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		if !sleep.For(ctx, topicsPause) {
			return nil, ctx.Err()
		}
	}
}

// refill writes a topic's records, and notes where its dead letters go.
func (r *restoring) refill(ctx context.Context, o kafka.Overview, f File, from io.Reader) error {
	records, total := newRecordReader(from), int64(0)
	for last := false; !last; {
		var batch []*kgo.Record
		var places []jobs.LetterPlace
		for bytes := 0; len(batch) < refillRecords && bytes < refillBytes; {
			record, err := records.next()
			if last = errors.Is(err, io.EOF); last {
				break
			}
			if err != nil {
				return fmt.Errorf("topic %s: %w", f.Topic, err)
			}
			places = append(places, jobs.LetterPlace{WasPartition: record.Partition, WasOffset: record.Offset})
			record.Partition %= int32(len(o.Partitions))
			batch = append(batch, record)
			bytes += len(record.Key) + len(record.Value)
		}
		if err := r.Kafka.Refill(ctx, o.Label, batch); err != nil {
			return err
		}
		if _, dead := kafka.IsDeadLetters(o.Label); dead {
			r.noteLetters(o, batch, places)
		}
		total += int64(len(batch))
		r.meter.rows(int64(len(batch)))
	}
	if total != f.Rows {
		return fmt.Errorf("topic %s: the backup says %d records, and has %d", f.Topic, f.Rows, total)
	}
	return nil
}

func (r *restoring) noteLetters(o kafka.Overview, written []*kgo.Record, places []jobs.LetterPlace) {
	var was [16]byte
	for _, t := range r.manifest.Topics {
		if t.Topic == o.Label {
			id, _ := hex.DecodeString(t.ID) // marks of no known topic stay as they are
			copy(was[:], id)
		}
	}
	for i, record := range written {
		places[i].WasTopic, places[i].Topic = was, o.ID
		places[i].Partition, places[i].Offset = record.Partition, record.Offset
	}
	r.letters = append(r.letters, places...)
}

func (r *restoring) fillPostgres(ctx context.Context) error {
	files := r.manifest.of(storePostgres)
	var tables []jobs.Table
	for _, f := range files {
		if f.Table == nil {
			return errManifest(f)
		}
		tables = append(tables, *f.Table)
	}
	return r.Postgres.Restore(ctx, tables, r.manifest.BegunAt, func(into *jobs.Restoration) error {
		for _, f := range files {
			err := r.read(f, func(from io.Reader) error { return into.Load(ctx, *f.Table, f.Rows, until(ctx, from)) })
			if err != nil {
				return err
			}
			r.meter.rows(f.Rows)
		}
		if err := into.Continue(ctx, r.manifest.Sequences); err != nil {
			return err
		}
		return into.Finish(ctx, r.letters)
	})
}

// deleteOnceMore deletes the points that were deleted while the backup was taken: the
// tombstones are of a later moment than the rows.
func (r *restoring) deleteOnceMore(ctx context.Context) error {
	stones, err := r.Postgres.TombstonesFrom(ctx, r.manifest.BegunAt)
	if err != nil {
		return err
	}
	deletions := make([]clickhouse.Deletion, len(stones))
	for i, t := range stones {
		deletions[i] = clickhouse.Deletion{
			Workspace: t.Workspace, Source: t.Source, Metric: t.Metric, FromUS: t.FromUS, ToUS: t.ToUS,
			Ceiling: t.Ceiling, WholeSource: t.Ceiling == registry.CeilingUnlimited,
		}
	}
	return r.ClickHouse.Delete(ctx, deletions...)
}

// read reads a file, and says so.
func (r *restoring) read(f File, use func(io.Reader) error) error {
	r.meter.begin("writing " + f.Name)
	if err := readFile(r.dir, &f, use); err != nil {
		return err
	}
	r.meter.bytes(f.Bytes)
	return nil
}

// errManifest reports that a file is not described as it should be.
func errManifest(f File) error {
	return fault.Newf(fault.Invalid, "the backup's manifest does not say what %s is of", f.Name)
}
