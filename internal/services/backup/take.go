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

// Stores are what is backed up, or filled.
type Stores struct {
	Postgres   *stores.DB
	ClickHouse *clickhouse.DB
	Kafka      *kafka.Client
}

// TakeOptions say where a backup goes.
type TakeOptions struct {
	Dir      string         // made if missing; must be empty
	Version  string         // of Livegraph, for the manifest
	Progress func(Progress) // may be nil
}

// Take takes a backup while the installation works. Everything that was acknowledged
// before it begins is in it.
//
// The order is what makes it so. First it is noted below which offsets the consumers
// of points and of uses of keys are done with the log: what is below is in ClickHouse,
// which is read next. Then it is noted where the logs of points and of commands end,
// and all of Postgres is read as it is at one moment after that. Last come the records
// between the notes: those of points under the versions that they have, so that it does
// no harm that most of them are among the rows too, and those of commands from the
// fence on that Postgres held at its moment, which are exactly those that were not
// decided.
func Take(ctx context.Context, stores Stores, o TakeOptions) (*Manifest, error) {
	if err := makeDir(o.Dir); err != nil {
		return nil, err
	}
	t := &taking{
		Stores: stores, dir: o.Dir, meter: newMeter(o.Progress, 0),
		manifest: &Manifest{Product: product, Format: format, Version: o.Version},
	}
	for _, step := range []func(context.Context) error{
		t.begin, t.readClickHouse, t.noteEnds, t.readPostgres, t.readKafka,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	t.manifest.FinishedAt = time.Now().UTC()
	return t.manifest, t.manifest.write(o.Dir)
}

// taking is a backup that is being taken.
type taking struct {
	Stores
	dir      string
	meter    *meter
	manifest *Manifest

	topics      map[string]kafka.Overview       // as they were at the beginning, by label
	from        map[string]map[int32]int64      // by label: from where on records are needed
	to          map[string]map[int32]int64      // and up to where
	generations map[string]registry.Generations // of points
}

// begin notes what the consumers are done with.
func (t *taking) begin(ctx context.Context) (err error) {
	t.meter.begin("looking at the log")
	if t.manifest.BegunAt, err = t.Postgres.Now(ctx); err != nil {
		return err
	}
	if t.topics, err = t.lookAtTopics(ctx); err != nil {
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
		for _, consumer := range audit.Readers { // the one of the audit log
			stored[p.Partition] = consumer.Committed[i]
		}
	}
	t.from = map[string]map[int32]int64{kafka.TopicPoints: behind(points, marks), kafka.TopicAudit: behind(audit, stored)}
	t.to = map[string]map[int32]int64{}
	return nil
}

func (t *taking) lookAtTopics(ctx context.Context) (map[string]kafka.Overview, error) {
	found, err := t.Kafka.Overviews(ctx)
	if err != nil {
		return nil, err
	}
	topics := map[string]kafka.Overview{}
	for _, o := range found {
		topics[o.Label] = o
	}
	for _, label := range []string{kafka.TopicPoints, kafka.TopicCommands} {
		was, known := t.topics[label]
		now, there := topics[label]
		if !there || known && was.ID != now.ID {
			return nil, fmt.Errorf("topic %s does not exist, or was made again while the backup was taken: take it again", label)
		}
	}
	return topics, nil
}

// behind returns from where on a topic's records are not done with, given where its
// consumer is.
func behind(o kafka.Overview, done map[int32]int64) map[int32]int64 {
	from := map[int32]int64{}
	for i := range o.Partitions {
		p := &o.Partitions[i]
		from[p.Partition] = p.Start
		if at, known := done[p.Partition]; known {
			from[p.Partition] = max(p.Start, min(at, p.End))
		}
	}
	return from
}

// readClickHouse reads what is stored of points and of uses.
func (t *taking) readClickHouse(ctx context.Context) (err error) {
	if t.manifest.Schemas.ClickHouse, err = t.ClickHouse.SchemaVersion(ctx); err != nil {
		return err
	}
	parts, err := dump.New(t.ClickHouse).Parts(ctx)
	if err != nil {
		return err
	}
	for _, part := range parts {
		f := File{Name: storeClickHouse + "/" + part.String() + ".native.zst", Store: storeClickHouse, Part: &part}
		err := t.write(f, func(w io.Writer) (int64, error) { return dump.New(t.ClickHouse).Dump(ctx, part, w, t.meter.rows) })
		if err != nil {
			return err
		}
	}
	return nil
}

// noteEnds notes up to where the backup is about points and commands.
func (t *taking) noteEnds(ctx context.Context) error {
	t.meter.begin("looking at the log")
	now, err := t.lookAtTopics(ctx)
	if err != nil {
		return err
	}
	if t.manifest.PointsAt, err = t.Postgres.Now(ctx); err != nil {
		return err
	}
	for _, label := range []string{kafka.TopicPoints, kafka.TopicCommands} {
		t.to[label] = ends(now[label])
	}
	t.topics[kafka.TopicPoints], t.topics[kafka.TopicCommands] = now[kafka.TopicPoints], now[kafka.TopicCommands]
	return nil
}

func ends(o kafka.Overview) map[int32]int64 {
	to := map[int32]int64{}
	for i := range o.Partitions {
		to[o.Partitions[i].Partition] = o.Partitions[i].End
	}
	return to
}

// readPostgres reads all tables at one moment.
func (t *taking) readPostgres(ctx context.Context) error {
	return t.Postgres.Snapshot(ctx, func(s *jobs.Snapshot) error {
		t.manifest.GraphAt, t.manifest.Schemas.Postgres, t.manifest.Installation = s.At, s.Schema, s.Installation
		commands := t.topics[kafka.TopicCommands]
		decided, err := s.Decided(ctx, commands.ID)
		if err != nil {
			return err
		}
		t.from[kafka.TopicCommands] = behind(commands, decided)
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

// readKafka reads the records between the notes; of uses of keys and of dead letters all
// that came up to now.
func (t *taking) readKafka(ctx context.Context) error {
	now, err := t.lookAtTopics(ctx)
	if err != nil {
		return err
	}
	for _, label := range kafka.Labels() {
		o, there := now[label]
		if !there {
			continue
		}
		from, to := t.from[label], t.to[label]
		if _, dead := kafka.IsDeadLetters(label); dead {
			from = behind(o, nil)
		} else if label == kafka.TopicEvents {
			from = ends(o) // they are published again from the journal
		}
		if to == nil {
			to = ends(o)
		}
		if err := t.readTopic(ctx, o, from, to); err != nil {
			return err
		}
	}
	return nil
}

// readTopic reads ranges of a topic's partitions.
func (t *taking) readTopic(ctx context.Context, o kafka.Overview, from, to map[int32]int64) error {
	spans := map[int32]kafka.Span{}
	topic := Topic{Topic: o.Label, ID: hex.EncodeToString(o.ID[:]), Partitions: make([]Range, len(to))}
	for p, end := range to {
		begin, known := from[p]
		if !known { // a partition that was added meanwhile
			begin = 0
		}
		spans[p] = kafka.Span{From: min(begin, end), To: end}
		topic.Partitions[p] = Range{From: spans[p].From, To: end}
	}
	f := File{Name: storeKafka + "/" + o.Label + ".records.zst", Store: storeKafka, Topic: o.Label}
	err := t.write(f, func(w io.Writer) (rows int64, err error) {
		var buffer []byte
		err = t.Kafka.ReadSpans(ctx, o.Name, spans, func(r *kgo.Record) error {
			if err := t.keepVersion(o, r); err != nil {
				return err
			}
			buffer = appendRecord(buffer[:0], r)
			rows++
			topic.Partitions[r.Partition].Bytes += int64(len(buffer))
			t.meter.rows(1)
			_, err := w.Write(buffer)
			return err
		})
		return rows, err
	})
	t.manifest.Topics = append(t.manifest.Topics, topic)
	return err
}

// keepVersion sets the version of a record of points to the one that its points have or will have:
// in another log its place would give another.
func (t *taking) keepVersion(o kafka.Overview, r *kgo.Record) error {
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

// write makes a file and notes it.
func (t *taking) write(f File, fill func(io.Writer) (int64, error)) error {
	t.meter.begin("reading " + f.Name)
	if err := writeFile(t.dir, &f, t.meter, fill); err != nil {
		return err
	}
	t.manifest.Files = append(t.manifest.Files, f)
	return nil
}
