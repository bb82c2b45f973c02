package backup

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/dump"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Stores are the stores of an installation.
type Stores struct {
	Postgres   *stores.DB
	ClickHouse *clickhouse.DB
	Kafka      *kafka.Client
}

// TakeOptions are the options of Take.
type TakeOptions struct {
	Dir      string         // created if missing; must be empty
	Version  string         // of Livegraph, for the manifest
	Progress func(Progress) // may be nil
}

// Take takes a backup of a running installation. The backup contains everything that was
// acknowledged before it began.
//
// The order of the steps guarantees this:
//
//  1. It records the offsets up to which the consumers of points and of audit records have
//     processed the log. Everything below them is in ClickHouse.
//  2. It reads ClickHouse.
//  3. It records the ends of the logs of points and of commands.
//  4. It reads all of Postgres in one snapshot.
//  5. It reads the records between the recorded offsets. Records of points get the versions
//     that they have, so those that are also in ClickHouse do no harm. Records of commands
//     start at the fence of the Postgres snapshot, so they are exactly the undecided ones.
func Take(ctx context.Context, stores Stores, o TakeOptions) (*Manifest, error) {
	if err := makeDir(o.Dir); err != nil {
		return nil, err
	}
	t := &backupRun{
		Stores: stores, dir: o.Dir, meter: newMeter(o.Progress, 0),
		manifest: &Manifest{Product: product, Format: format, Version: o.Version},
	}
	for _, step := range []func(context.Context) error{
		t.recordStarts, t.readClickHouse, t.recordEnds, t.readPostgres, t.readKafka,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	t.manifest.FinishedAt = time.Now().UTC()
	return t.manifest, t.manifest.write(o.Dir)
}

// backupRun is the state of a backup in progress.
type backupRun struct {
	Stores
	dir      string
	meter    *meter
	manifest *Manifest

	topics      map[string]kafka.Overview       // at the start of the backup, by label
	from        map[string]map[int32]int64      // by label and partition: offset of the first record to read
	to          map[string]map[int32]int64      // by label and partition: end of the records to read, exclusive
	generations map[string]registry.Generations // of points
}

// recordStarts records the offsets up to which the consumers have processed the log.
func (t *backupRun) recordStarts(ctx context.Context) (err error) {
	t.meter.startStep("reading the offsets of the log")
	if t.manifest.StartedAt, err = t.Postgres.Now(ctx); err != nil {
		return err
	}
	if t.topics, err = t.readTopics(ctx); err != nil {
		return err
	}
	points, audit := t.topics[kafka.TopicPoints], t.topics[kafka.TopicAudit]
	marks, err := t.Postgres.Watermarks(ctx, points.ID)
	if err != nil {
		return err
	}
	stored := map[int32]int64{}
	for i, p := range audit.Partitions {
		stored[p.Partition] = -1
		for _, consumer := range audit.Readers { // the audit consumer
			stored[p.Partition] = consumer.Committed[i]
		}
	}
	t.from = map[string]map[int32]int64{
		kafka.TopicPoints: pendingFrom(points, marks), kafka.TopicAudit: pendingFrom(audit, stored),
	}
	t.to = map[string]map[int32]int64{}
	return nil
}

func (t *backupRun) readTopics(ctx context.Context) (map[string]kafka.Overview, error) {
	found, err := t.Kafka.Overviews(ctx)
	if err != nil {
		return nil, err
	}
	topics := map[string]kafka.Overview{}
	for _, o := range found {
		topics[o.Label] = o
	}
	for _, label := range []string{kafka.TopicPoints, kafka.TopicCommands} {
		before, known := t.topics[label]
		now, exists := topics[label]
		if !exists || known && before.ID != now.ID {
			return nil, fmt.Errorf("topic %s does not exist or was recreated during the backup: take the backup again", label)
		}
	}
	return topics, nil
}

// pendingFrom returns the first offset of each partition that is not processed, given the
// positions of the consumer.
func pendingFrom(o kafka.Overview, processed map[int32]int64) map[int32]int64 {
	from := map[int32]int64{}
	for i := range o.Partitions {
		p := &o.Partitions[i]
		from[p.Partition] = p.Start
		if offset, known := processed[p.Partition]; known {
			from[p.Partition] = max(p.Start, min(offset, p.End))
		}
	}
	return from
}

// readClickHouse writes the points and the audit records of ClickHouse to files.
func (t *backupRun) readClickHouse(ctx context.Context) (err error) {
	if t.manifest.Schemas.ClickHouse, err = t.ClickHouse.SchemaVersion(ctx); err != nil {
		return err
	}
	parts, err := dump.New(t.ClickHouse).Parts(ctx)
	if err != nil {
		return err
	}
	for _, part := range parts {
		f := File{Name: storeClickHouse + "/" + part.String() + ".native.zst", Store: storeClickHouse, Part: &part}
		err := t.write(f, func(w io.Writer) (int64, error) {
			return dump.New(t.ClickHouse).Dump(ctx, part, w, t.meter.addRows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recordEnds records the ends of the logs of points and of commands.
func (t *backupRun) recordEnds(ctx context.Context) error {
	t.meter.startStep("reading the offsets of the log")
	now, err := t.readTopics(ctx)
	if err != nil {
		return err
	}
	if t.manifest.PointsAt, err = t.Postgres.Now(ctx); err != nil {
		return err
	}
	for _, label := range []string{kafka.TopicPoints, kafka.TopicCommands} {
		t.to[label] = endOffsets(now[label])
	}
	t.topics[kafka.TopicPoints], t.topics[kafka.TopicCommands] = now[kafka.TopicPoints], now[kafka.TopicCommands]
	return nil
}

func endOffsets(o kafka.Overview) map[int32]int64 {
	to := map[int32]int64{}
	for i := range o.Partitions {
		to[o.Partitions[i].Partition] = o.Partitions[i].End
	}
	return to
}

// readPostgres writes all tables to files, in one snapshot.
func (t *backupRun) readPostgres(ctx context.Context) error {
	return t.Postgres.Snapshot(ctx, func(s *jobs.Snapshot) error {
		t.manifest.GraphAt, t.manifest.Schemas.Postgres, t.manifest.Installation = s.At, s.Schema, s.Installation
		commands := t.topics[kafka.TopicCommands]
		decided, err := s.CommandOffsets(ctx, commands.ID)
		if err != nil {
			return err
		}
		t.from[kafka.TopicCommands] = pendingFrom(commands, decided)
		generations, err := s.Generations(ctx, kafka.TopicPoints)
		if err != nil {
			return err
		}
		t.generations = map[string]registry.Generations{kafka.TopicPoints: generations}
		tables, err := s.Tables(ctx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			f := File{Name: storePostgres + "/" + table.Name + ".copy.zst", Store: storePostgres, Table: &table}
			if err := t.write(f, func(w io.Writer) (int64, error) { return s.Copy(ctx, table, w) }); err != nil {
				return err
			}
		}
		t.manifest.Sequences, err = s.Sequences(ctx)
		return err
	})
}

// readKafka writes the records between the recorded offsets to files. Audit records and dead
// letters are read up to the current end of their topics.
func (t *backupRun) readKafka(ctx context.Context) error {
	now, err := t.readTopics(ctx)
	if err != nil {
		return err
	}
	for _, label := range kafka.Labels() {
		o, exists := now[label]
		if !exists {
			continue
		}
		from, to := t.from[label], t.to[label]
		if _, dead := kafka.IsDeadLetters(label); dead {
			from = pendingFrom(o, nil)
		} else if label == kafka.TopicEvents {
			from = endOffsets(o) // they are published again from the journal
		}
		if to == nil {
			to = endOffsets(o)
		}
		if err := t.readTopic(ctx, o, from, to); err != nil {
			return err
		}
	}
	return nil
}

// readTopic writes ranges of a topic's partitions to a file.
func (t *backupRun) readTopic(ctx context.Context, o kafka.Overview, from, to map[int32]int64) error {
	spans := map[int32]kafka.Span{}
	topic := Topic{Topic: o.Label, ID: hex.EncodeToString(o.ID[:]), Partitions: make([]Range, len(to))}
	for p, end := range to {
		start, known := from[p]
		if !known { // a partition that was added during the backup
			start = 0
		}
		spans[p] = kafka.Span{From: min(start, end), To: end}
		topic.Partitions[p] = Range{From: spans[p].From, To: end}
	}
	f := File{Name: storeKafka + "/" + o.Label + ".records.zst", Store: storeKafka, Topic: o.Label}
	err := t.write(f, func(w io.Writer) (rows int64, err error) {
		var buffer []byte
		err = t.Kafka.ReadSpans(ctx, o.Name, spans, func(r *kgo.Record) error {
			if err := t.setVersion(o, r); err != nil {
				return err
			}
			buffer = appendRecord(buffer[:0], r)
			rows++
			topic.Partitions[r.Partition].Bytes += int64(len(buffer))
			t.meter.addRows(1)
			_, err := w.Write(buffer)
			return err
		})
		return rows, err
	})
	t.manifest.Topics = append(t.manifest.Topics, topic)
	return err
}

// setVersion adds the version that the points of a record have, or will have, to its headers. In
// another log, the offset of the record would result in another version.
func (t *backupRun) setVersion(o kafka.Overview, r *kgo.Record) error {
	generations, versioned := t.generations[o.Label]
	if !versioned || kafka.Header(r, kafka.HeaderVersion) != nil {
		return nil
	}
	generation, known := generations.At(o.ID, r.Partition, r.Offset, kafka.RouteOf(r))
	if !known {
		return fmt.Errorf("partition %d of %s has no generation at offset %d", r.Partition, o.Name, r.Offset)
	}
	version := pointblock.Version(generation, r.Offset)
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: kafka.HeaderVersion, Value: strconv.AppendUint(nil, version, 10)})
	return nil
}

// write creates a file and adds it to the manifest.
func (t *backupRun) write(f File, fill func(io.Writer) (int64, error)) error {
	t.meter.startStep("reading " + f.Name)
	if err := writeFile(t.dir, &f, t.meter, fill); err != nil {
		return err
	}
	t.manifest.Files = append(t.manifest.Files, f)
	return nil
}
