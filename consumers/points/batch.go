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

// concurrentStores is the number of batches that are inserted at a time. ClickHouse uses
// one thread for each. Versions make their order irrelevant, as they do when several
// processes insert.
const concurrentStores = 2

// Limits of the buffer pools.
const (
	// pooledColumns is the number of column buffers: one is filled while others are stored.
	pooledColumns = 1 + concurrentStores
	// pooledSpans is the capacity, in spans, of all pooled records together: 36 MB.
	pooledSpans = 300_000
	// poolIdleTime is how long an unused buffer is kept. After it, the memory that a backlog
	// needed is released.
	poolIdleTime = 30 * time.Second
)

// maxBatchSpans is the number of spans at which a batch is full: 18 MB until it is
// prepared. It is the first limit to be reached when records have few points of each
// series, as those of live sensors do.
const maxBatchSpans = 150_000

// batch is a batch of records that is to be stored in ClickHouse.
type batch struct {
	c       *Consumer
	records []*record
	rows    int
	spans   int

	asOf       int64 // position up to which its rows were compared with tombstones
	tombstones map[sourceID]*sourceTombstones
	columns    *columns
	stored     storedParts // parts that an earlier call of Store has stored
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
	latest   clickhouse.LatestColumns
	activity []clickhouse.ActivityRow
	series   []clickhouse.SeriesRow
	// exemplars are in any order.
	exemplars []clickhouse.ExemplarRow
	rollups   *clickhouse.Rollups // of this and earlier batches; nil: none
	sources   map[sourceID]int64  // newest receive time of each source, in microseconds
}

func newColumns() *columns { return &columns{sources: map[sourceID]int64{}} }

// oversized reports whether the columns have much more capacity than their rows use. A
// capacity of a million rows takes 16 MB, which batches of many small records need for
// other buffers.
func (c *columns) oversized() bool {
	const spareRows, factor = 100_000, 4
	return cap(c.points.TS) > spareRows+factor*c.points.Len() || cap(c.states.TS) > spareRows+factor*c.states.Len()
}

func (c *columns) reset() {
	c.points.Reset()
	c.states.Reset()
	c.latest.Reset()
	clear(c.series) // releases the strings
	clear(c.exemplars)
	c.activity, c.series, c.exemplars, c.rollups = c.activity[:0], c.series[:0], c.exemplars[:0], nil
	clear(c.sources)
}

// Add decodes a record and adds it to the batch.
func (b *batch) Add(r *kgo.Record) error {
	rec, err := b.c.decode(r)
	if err != nil {
		return err
	}
	b.addDecoded(rec)
	return nil
}

// addDecoded adds a decoded record.
func (b *batch) addDecoded(rec *record) {
	for i := range rec.Spans {
		b.rows += rec.Spans[i].Count
	}
	for i := range rec.Exemplars {
		b.rows += rec.Exemplars[i].Count
	}
	b.records = append(b.records, rec)
	b.spans += len(rec.Spans) + len(rec.Exemplars)
}

// decode decodes a record. It returns an error if the record must not be stored.
func (c *Consumer) decode(r *kgo.Record) (*record, error) {
	rec := c.getRecord()
	rec.kafka = r
	err := pointblock.Decode(r.Value, &rec.Record)
	if err == nil {
		err = checkExemplars(&rec.Record)
	}
	if err == nil {
		_, err = originalVersion(r)
	}
	if err == nil && c.beforeHorizon(&rec.Record) {
		err = fmt.Errorf("it was received at %s, and what was deleted since then is not known any more",
			time.UnixMicro(rec.ReceivedAtUS).UTC().Format(time.RFC3339))
	}
	if err != nil {
		c.putRecord(rec)
		return nil, err
	}
	return rec, nil
}

// Full reports whether the batch has reached maxBatchSpans.
func (b *batch) Full() bool { return b.spans >= maxBatchSpans }

// beforeHorizon reports whether a record is so old that its tombstones may have been
// pruned. The log retains no record of this age: it is a redriven dead letter.
func (c *Consumer) beforeHorizon(rec *pointblock.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.horizon.IsZero() && rec.ReceivedAtUS < c.horizon.UnixMicro() && len(rec.Spans)+len(rec.Exemplars) > 0
}

// Rows returns the number of points in the batch.
func (b *batch) Rows() int { return b.rows }

// Prepare sets the version of every record, writes the tombstones of the batch's
// deletions, and converts the points that no tombstone covers to sorted columns.
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
	if err := b.writeTombstones(ctx); err != nil {
		return err
	}
	if err := b.findTombstones(ctx); err != nil {
		return err
	}
	b.columns = b.c.getColumns()
	b.arrange()
	b.columns.rollups = b.c.aggregator.addAndTake(&b.columns.points)
	for _, rec := range b.records {
		b.c.putRecord(rec) // its spans are in the columns
	}
	b.records, b.tombstones = nil, nil
	return nil
}

// writeTombstones writes the tombstones of the batch's deletions. They are durable before
// any row of the batch is stored, and from then on queries hide the points that they cover.
// Package maintenance deletes the rows that are stored already; no batch waits for it.
func (b *batch) writeTombstones(ctx context.Context) error {
	var added []registry.Tombstone
	for _, rec := range b.records {
		for i := range rec.Deletions {
			d := &rec.Deletions[i]
			if d.WholeWorkspace { // the row of the workspace in Postgres is the tombstone
				continue
			}
			added = append(added, tombstoneOf(rec, int32(i), d))
		}
	}
	if len(added) == 0 {
		return nil
	}
	if err := b.c.deps.Registry.AddTombstones(ctx, added); err != nil {
		return err
	}
	var err error
	b.asOf, err = b.c.refresh(ctx) // includes the new tombstones
	return err
}

// findTombstones finds the tombstones that can cover points of the batch.
func (b *batch) findTombstones(ctx context.Context) error {
	s, ok := b.c.sorters.Get()
	if !ok {
		s = newSorter()
	}
	defer b.c.sorters.Put(s, 1)
	clear(s.floors)
	for _, rec := range b.records {
		s.addFloors(rec, rec.Spans)
		s.addFloors(rec, rec.Exemplars)
	}
	b.tombstones = map[sourceID]*sourceTombstones{}
	return b.c.tombstones.find(ctx, b.c.deps.Registry, s.floors, b.tombstones)
}

// addFloors lowers the floors of the sources of spans to the version of their record.
func (s *sorter) addFloors(rec *record, spans []pointblock.Span) {
	last := sourceID{Workspace: rec.Workspace}
	for i := range spans {
		if source := spans[i].Source; source == last.Source && i > 0 {
			continue
		} else {
			last.Source = source
		}
		if floor, ok := s.floors[last]; !ok || rec.version < floor {
			s.floors[last] = rec.version
		}
	}
}

// tombstoneOf returns the tombstone of a deletion. Its ceiling is the version of the
// deletion, or unlimited if the source itself is deleted.
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

// Release puts the columns back into the pool.
func (b *batch) Release() {
	if b.columns != nil {
		b.c.putColumns(b.columns)
	}
	b.records, b.columns = nil, nil
}

func (c *Consumer) getColumns() *columns {
	if pooled, ok := c.columns.Get(); ok {
		return pooled
	}
	return newColumns()
}

func (c *Consumer) putColumns(used *columns) {
	if used.oversized() {
		return
	}
	used.reset()
	c.columns.Put(used, 1)
}

// getRecord returns a record to decode into, from the pool if possible. Spans are large:
// where records have one point of each series, allocating them costs as much as decoding.
func (c *Consumer) getRecord() *record {
	if rec, ok := c.records.Get(); ok {
		return rec
	}
	return &record{}
}

func (c *Consumer) putRecord(rec *record) {
	rec.kafka = nil
	rec.Release()
	if n := cap(rec.Spans); n > 0 {
		c.records.Put(rec, n)
	}
}
