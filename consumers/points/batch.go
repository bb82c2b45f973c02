package points

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// storeAtOnce is how many batches are inserted at a time: ClickHouse has one thread for
// each. Which is there first does not matter, versions see to it, as they do where several
// processes insert.
const storeAtOnce = 2

// What is kept for its next use.
const (
	// spareColumns is how many column buffers: one is filled while others are stored.
	spareColumns = 1 + storeAtOnce
	// spareSpans is how many spans the records may have room for, together: 60 MB.
	spareSpans = 300_000
	// spareTime is for how long, when it is not used: what a backlog needed is let go of
	// after it.
	spareTime = 30 * time.Second
)

// batchSpans is how many spans make a batch full: 30 MB, while it is gathered and while
// it is made ready. It is reached before any other bound where records have few points of
// each series, as those of live sensors do.
const batchSpans = 150_000

// batch is a batch of records on its way into ClickHouse.
type batch struct {
	c       *Consumer
	records []*record
	rows    int
	spans   int

	asOf     int64 // up to where tombstones are known that its rows were compared with
	covering map[owner]*covering
	columns  *columns
	stored   stage // what of it is stored already, when storing is tried again
}

// record is a record with its list of spans.
type record struct {
	pointblock.Record
	kafka   *kgo.Record
	version uint64
}

// columns are the rows of a batch.
type columns struct {
	points   clickhouse.PointColumns
	states   clickhouse.StateColumns
	latest   []clickhouse.LatestRow
	activity []clickhouse.ActivityRow
	series   []clickhouse.SeriesRow
	sources  map[owner]int64 // whose rows these are, and when each was last heard from, microseconds
}

func newColumns() *columns { return &columns{sources: map[owner]int64{}} }

// oversized reports whether batches have become much smaller than the one that the
// columns were made for. Room for a million rows takes 16 MB, which many small records
// need for themselves.
func (c *columns) oversized() bool {
	const little, times = 100_000, 4
	return cap(c.points.TS) > little+times*c.points.Len() || cap(c.states.TS) > little+times*c.states.Len()
}

func (c *columns) reset() {
	c.points.Reset()
	c.states.Reset()
	clear(c.latest) // lets go of the texts
	clear(c.series)
	c.latest, c.activity, c.series = c.latest[:0], c.activity[:0], c.series[:0]
	clear(c.sources)
}

// Add lists the spans of a record.
func (b *batch) Add(r *kgo.Record) error {
	rec, err := b.c.decode(r)
	if err != nil {
		return err
	}
	b.take(rec)
	return nil
}

// take adds a record that was decoded.
func (b *batch) take(rec *record) {
	for i := range rec.Spans {
		b.rows += rec.Spans[i].Count
	}
	b.records = append(b.records, rec)
	b.spans += len(rec.Spans)
}

// decode decodes a record that may be stored.
func (c *Consumer) decode(r *kgo.Record) (*record, error) {
	rec := c.takeRecord()
	rec.kafka = r
	err := pointblock.Decode(r.Value, &rec.Record)
	if err == nil {
		_, err = originalVersion(r)
	}
	if err == nil && c.forgotten(&rec.Record) {
		err = fmt.Errorf("it was received at %s, and what was deleted since then is not known any more",
			time.UnixMicro(rec.ReceivedAtUS).UTC().Format(time.RFC3339))
	}
	if err != nil {
		c.giveRecord(rec)
		return nil, err
	}
	return rec, nil
}

// Full reports that its spans take up as much memory as they may.
func (b *batch) Full() bool { return b.spans >= batchSpans }

// forgotten reports whether a record is so old that its tombstones may have been
// forgotten. The log has none that old: it is a dead letter that was put back.
func (c *Consumer) forgotten(rec *pointblock.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.horizon.IsZero() && rec.ReceivedAtUS < c.horizon.UnixMicro() && len(rec.Spans) > 0
}

// Rows returns the points of the batch.
func (b *batch) Rows() int { return b.rows }

// Prepare sets the version of every record, writes the tombstones of the batch's
// deletions, and turns what is under none into sorted columns.
func (b *batch) Prepare(ctx context.Context) (err error) {
	if b.asOf, err = b.c.refresh(ctx); err != nil {
		return err
	}
	b.c.mu.Lock()
	topicID, generations := b.c.topicID, b.c.generations
	b.c.mu.Unlock()
	for _, rec := range b.records {
		if rec.version, err = versionOf(rec.kafka, topicID, generations); err != nil {
			return err
		}
	}
	if err := b.bury(ctx); err != nil {
		return err
	}
	if err := b.findTombstones(ctx); err != nil {
		return err
	}
	b.columns = b.c.takeColumns()
	b.arrange()
	for _, rec := range b.records {
		b.c.giveRecord(rec) // the spans have served
	}
	b.records, b.covering = nil, nil
	return nil
}

// bury writes the tombstones of the batch's deletions. They are durable before
// anything of the batch is stored, and from then on no query shows what they cover.
// The rows of before are deleted by package upkeep: for that no batch waits.
func (b *batch) bury(ctx context.Context) error {
	var stones []registry.Tombstone
	for _, rec := range b.records {
		for i := range rec.Deletions {
			d := &rec.Deletions[i]
			if d.WholeWorkspace { // its own row in Postgres is its tombstone
				continue
			}
			stones = append(stones, tombstoneOf(rec, int32(i), d))
		}
	}
	if len(stones) == 0 {
		return nil
	}
	if err := b.c.deps.Registry.AddTombstones(ctx, stones); err != nil {
		return err
	}
	var err error
	b.asOf, err = b.c.refresh(ctx) // with these
	return err
}

// findTombstones finds what covers the batch's points.
func (b *batch) findTombstones(ctx context.Context) error {
	s, ok := b.c.sorters.Get()
	if !ok {
		s = newSorter()
	}
	defer b.c.sorters.Put(s, 1)
	clear(s.floors)
	for _, rec := range b.records {
		last := owner{Workspace: rec.Workspace}
		for i := range rec.Spans {
			if source := rec.Spans[i].Source; source == last.Source && i > 0 {
				continue
			} else {
				last.Source = source
			}
			if floor, ok := s.floors[last]; !ok || rec.version < floor {
				s.floors[last] = rec.version
			}
		}
	}
	b.covering = map[owner]*covering{}
	return b.c.tombstones.find(ctx, b.c.deps.Registry, s.floors, b.covering)
}

// tombstoneOf returns the tombstone of a deletion: it ends at the deletion's own
// version, and never where the source itself is gone.
func tombstoneOf(rec *record, ordinal int32, d *pointblock.Deletion) registry.Tombstone {
	t := registry.Tombstone{
		Partition: rec.kafka.Partition, RecordVersion: rec.version, Ordinal: ordinal,
		Workspace: rec.Workspace, Source: d.Source, Ceiling: rec.version,
	}
	if d.WholeSource {
		t.Ceiling = registry.CeilingUnlimited
		return t
	}
	if d.HasMetric {
		t.Metric = &d.Metric
	}
	if d.HasFrom {
		t.FromUS = &d.FromUS
	}
	if d.HasTo {
		t.ToUS = &d.ToUS
	}
	return t
}

// Release returns the columns to the pool.
func (b *batch) Release() {
	if b.columns != nil {
		b.c.giveColumns(b.columns)
	}
	b.records, b.columns = nil, nil
}

func (c *Consumer) takeColumns() *columns {
	if free, ok := c.columns.Get(); ok {
		return free
	}
	return newColumns()
}

func (c *Consumer) giveColumns(used *columns) {
	if used.oversized() {
		return
	}
	used.reset()
	c.columns.Put(used, 1)
}

// takeRecord returns a record to decode into. Its spans have served: they are large, and
// where points come one a series, making room for them again costs as much as decoding.
func (c *Consumer) takeRecord() *record {
	if rec, ok := c.records.Get(); ok {
		return rec
	}
	return &record{}
}

func (c *Consumer) giveRecord(rec *record) {
	clear(rec.Spans) // lets go of the record's bytes
	rec.kafka, rec.Spans, rec.Deletions = nil, rec.Spans[:0], nil
	if room := cap(rec.Spans); room > 0 {
		c.records.Put(rec, room)
	}
}
