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

// Limits of writes to Kafka.
const (
	batchRecords = 200
	batchBytes   = 16 << 20
	// maxRetentionShare is the maximum share of a partition's retention.bytes that its restored
	// records may have: retention counts more than the bytes of the records.
	maxRetentionShare = 0.8

	topicsTimeout      = time.Minute // until all brokers report the created topics
	topicsPollInterval = 100 * time.Millisecond
)

// RestoreOptions are the options of Restore.
type RestoreOptions struct {
	Dir string
	// Topics are the settings of created topics. The numbers of partitions are those of the backup.
	Topics   kafka.TopicSettings
	Progress func(Progress) // may be nil
}

// Restore restores a backup that Check has validated into empty stores. It returns
// fault.Conflict, without writing anything, if a store is not empty. It marks Postgres first and
// removes the mark last, so that no server starts on an incomplete restore.
func Restore(ctx context.Context, stores Stores, m *Manifest, o RestoreOptions) error {
	r := &restoreRun{Stores: stores, dir: o.Dir, manifest: m, settings: o.Topics, meter: newMeter(o.Progress, m.Bytes())}
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
		r.restoreClickHouse, r.restoreKafka, r.restorePostgres, r.reapplyDeletions, stores.Postgres.EndRestore,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restoreRun is the state of a restore in progress.
type restoreRun struct {
	Stores
	dir         string
	manifest    *Manifest
	settings    kafka.TopicSettings
	meter       *meter
	deadLetters []jobs.DeadLetterMove
}

// partitions returns the number of partitions of the topics. It returns an error if the records
// of a partition exceed its retention.
func (r *restoreRun) partitions() (map[string]int32, error) {
	counts := map[string]int32{}
	for _, t := range r.manifest.Topics {
		counts[t.Topic] = int32(len(t.Partitions))
		for p, part := range t.Partitions {
			if part.Bytes > int64(maxRetentionShare*float64(r.settings.RetentionBytes)) {
				return nil, fault.Newf(
					fault.Invalid,
					"partition %d of topic %s has %d bytes of records, and --kafka-retention-bytes keeps %d: set it to at least %d",
					p, t.Topic, part.Bytes, r.settings.RetentionBytes, int64(float64(part.Bytes)/maxRetentionShare)+1,
				)
			}
		}
	}
	r.settings.Partitions, r.settings.CommandsPartitions = counts[kafka.TopicPoints], counts[kafka.TopicCommands]
	// The other topics are created with the same numbers. restoreTopic maps records to the
	// partitions that exist.
	return map[string]int32{
		kafka.TopicPoints: counts[kafka.TopicPoints], kafka.TopicCommands: counts[kafka.TopicCommands],
	}, nil
}

func (r *restoreRun) restoreClickHouse(ctx context.Context) error {
	if err := r.ClickHouse.MigrateTo(ctx, r.manifest.Schemas.ClickHouse); err != nil {
		return err
	}
	for _, f := range r.manifest.filesOf(storeClickHouse) {
		if f.Part == nil {
			return errManifest(f)
		}
		err := r.readFile(f, func(content io.Reader) error {
			return dump.New(r.ClickHouse).Load(ctx, *f.Part, f.Rows, content, r.meter.addRows)
		})
		if err != nil {
			return err
		}
	}
	return r.ClickHouse.Migrate(ctx)
}

func (r *restoreRun) restoreKafka(ctx context.Context) error {
	if err := r.Kafka.EnsureTopics(ctx, r.settings); err != nil {
		return err
	}
	topics, err := r.waitForTopics(ctx)
	if err != nil {
		return err
	}
	for _, f := range r.manifest.filesOf(storeKafka) {
		o, exists := topics[f.Topic]
		if !exists {
			return errManifest(f)
		}
		if err := r.readFile(f, func(content io.Reader) error { return r.restoreTopic(ctx, o, f, content) }); err != nil {
			return err
		}
	}
	return nil
}

// waitForTopics waits until the brokers report all topics of the backup: new topics take a moment
// to propagate.
func (r *restoreRun) waitForTopics(ctx context.Context) (map[string]kafka.Overview, error) {
	for deadline := time.Now().Add(topicsTimeout); ; {
		found, err := r.Kafka.Overviews(ctx)
		topics := map[string]kafka.Overview{}
		for _, o := range found {
			topics[o.Label] = o
		}
		missing := slices.IndexFunc(r.manifest.Topics, func(t Topic) bool { return len(topics[t.Topic].Partitions) == 0 })
		if err == nil && missing < 0 {
			return topics, nil
		}
		if err == nil {
			err = fmt.Errorf("topic %s was created, but the brokers do not report it", r.manifest.Topics[missing].Topic)
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		if !sleep.For(ctx, topicsPollInterval) {
			return nil, ctx.Err()
		}
	}
}

// restoreTopic writes a topic's records and records the new positions of dead letters.
func (r *restoreRun) restoreTopic(ctx context.Context, o kafka.Overview, f File, content io.Reader) error {
	records, total := newRecordReader(content), int64(0)
	for last := false; !last; {
		var batch []*kgo.Record
		var places []jobs.DeadLetterMove
		for bytes := 0; len(batch) < batchRecords && bytes < batchBytes; {
			record, err := records.next()
			if last = errors.Is(err, io.EOF); last {
				break
			}
			if err != nil {
				return fmt.Errorf("topic %s: %w", f.Topic, err)
			}
			places = append(places, jobs.DeadLetterMove{OldPartition: record.Partition, OldOffset: record.Offset})
			record.Partition %= int32(len(o.Partitions))
			batch = append(batch, record)
			bytes += len(record.Key) + len(record.Value)
		}
		if err := r.Kafka.Restore(ctx, o.Label, batch); err != nil {
			return err
		}
		if _, dead := kafka.IsDeadLetters(o.Label); dead {
			r.recordDeadLetters(o, batch, places)
		}
		total += int64(len(batch))
		r.meter.addRows(int64(len(batch)))
	}
	if total != f.Rows {
		return fmt.Errorf("topic %s: the manifest says %d records, but the file has %d", f.Topic, f.Rows, total)
	}
	return nil
}

func (r *restoreRun) recordDeadLetters(o kafka.Overview, written []*kgo.Record, places []jobs.DeadLetterMove) {
	var oldTopic [16]byte
	for _, t := range r.manifest.Topics {
		if t.Topic == o.Label {
			id, _ := hex.DecodeString(t.ID) // marks of an unknown topic are not changed
			copy(oldTopic[:], id)
		}
	}
	for i, record := range written {
		places[i].OldTopic, places[i].Topic = oldTopic, o.ID
		places[i].Partition, places[i].Offset = record.Partition, record.Offset
	}
	r.deadLetters = append(r.deadLetters, places...)
}

func (r *restoreRun) restorePostgres(ctx context.Context) error {
	files := r.manifest.filesOf(storePostgres)
	var tables []jobs.Table
	for _, f := range files {
		if f.Table == nil {
			return errManifest(f)
		}
		tables = append(tables, *f.Table)
	}
	return r.Postgres.Restore(ctx, tables, r.manifest.StartedAt, func(restoration *jobs.Restoration) error {
		for _, f := range files {
			err := r.readFile(f, func(content io.Reader) error {
				return restoration.Load(ctx, *f.Table, f.Rows, contextReader(ctx, content))
			})
			if err != nil {
				return err
			}
			r.meter.addRows(f.Rows)
		}
		if err := restoration.SetSequences(ctx, r.manifest.Sequences); err != nil {
			return err
		}
		return restoration.Finish(ctx, r.deadLetters)
	})
}

// reapplyDeletions deletes the points that were deleted during the backup: their tombstones are
// in the snapshot of Postgres, but ClickHouse was read before them.
func (r *restoreRun) reapplyDeletions(ctx context.Context) error {
	tombstones, err := r.Postgres.TombstonesFrom(ctx, r.manifest.StartedAt)
	if err != nil {
		return err
	}
	deletions := make([]clickhouse.Deletion, len(tombstones))
	for i, t := range tombstones {
		deletions[i] = clickhouse.Deletion{
			Workspace: t.Workspace, Source: t.Source, Metric: t.Metric, FromUS: t.FromUS, ToUS: t.ToUS,
			Ceiling: t.Ceiling, WholeSource: t.Ceiling == registry.CeilingUnlimited,
		}
	}
	return r.ClickHouse.Delete(ctx, deletions...)
}

// readFile reads a file of the backup and reports the progress.
func (r *restoreRun) readFile(f File, read func(io.Reader) error) error {
	r.meter.startStep("writing " + f.Name)
	if err := readFile(r.dir, &f, read); err != nil {
		return err
	}
	r.meter.addBytes(f.Bytes)
	return nil
}

// errManifest returns the error for a file whose entry in the manifest is incomplete.
func errManifest(f File) error {
	return fault.Newf(fault.Invalid, "the backup's manifest does not describe %s", f.Name)
}
