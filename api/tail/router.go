package tail

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// subscriber is the router's part of a stream.
type subscriber struct {
	workspace uuid.UUID
	selector  selector
	queue     *queue

	// Set when the stream joins the shared tail.
	topic kafka.TopicInfo
	from  map[int32]int64 // first offset by partition; nil: all records
}

// router routes the points of records to the queues of the streams that select them. It must
// be used by one goroutine.
type router struct {
	store      sourceStore
	metrics    *metrics
	log        *slog.Logger
	workspaces map[uuid.UUID]*subscriptions
	matches    int // number of cached matches of all workspaces
	maxCached  int // maximum number of cached matches, and of cached sources

	scanned []scanned // records of the current poll; reused
}

// subscriptions are the streams of a workspace.
type subscriptions struct {
	directory
	streams    []*subscriber
	matches    map[uint64]*match // by series id
	unresolved map[uuid.UUID]struct{}
}

// match contains the streams that select a series. It is cached, because a series occurs in
// many records.
type match struct {
	series  *Series
	streams []*subscriber
}

// noMatch is the match of a series that no stream selects.
var noMatch = &match{}

// Maximum numbers of series, and of sources, that the shared tail and the tail of one
// catch-up cache. A cache that exceeds its limit is cleared.
const (
	maxCachedShared  = 50_000
	maxCachedCatchUp = 5_000
)

// scanned is a record that a stream may select.
type scanned struct {
	from          *kgo.Record
	subscriptions *subscriptions
	record        pointblock.Record
}

func newRouter(store sourceStore, m *metrics, log *slog.Logger, maxCached int) *router {
	return &router{store: store, metrics: m, log: log, maxCached: maxCached, workspaces: map[uuid.UUID]*subscriptions{}}
}

func (r *router) add(s *subscriber) {
	a := r.workspaces[s.workspace]
	if a == nil {
		a = &subscriptions{
			directory: directory{
				store: r.store, workspace: s.workspace, labels: map[uuid.UUID]*registry.SourceLabel{}, read: time.Now(),
			},
			matches: map[uint64]*match{}, unresolved: map[uuid.UUID]struct{}{},
		}
		r.workspaces[s.workspace] = a
	}
	a.streams = append(a.streams, s)
	r.clearMatches(a)
}

func (r *router) remove(s *subscriber) {
	a := r.workspaces[s.workspace]
	if a == nil {
		return
	}
	a.streams = slices.DeleteFunc(a.streams, func(other *subscriber) bool { return other == s })
	r.clearMatches(a)
	if len(a.streams) == 0 {
		delete(r.workspaces, s.workspace)
	}
}

func (r *router) clearMatches(a *subscriptions) {
	r.matches -= len(a.matches)
	clear(a.matches)
}

// subscribers returns the subscribers of all workspaces.
func (r *router) subscribers() (list []*subscriber) {
	for _, a := range r.workspaces {
		list = append(list, a.streams...)
	}
	return list
}

// scan finds the records that streams may select. For a workspace without a stream it reads
// only the workspace of the record. It does not decode series that no stream selects.
func (r *router) scan(records []*kgo.Record) {
	n := 0
	for _, from := range records {
		workspace, err := pointblock.WorkspaceOf(from.Value)
		a := r.workspaces[workspace]
		if err != nil || a == nil || redriven(from) {
			r.metrics.skipped(err)
			continue
		}
		if n == len(r.scanned) {
			r.scanned = append(r.scanned, scanned{})
		}
		s := &r.scanned[n]
		s.from, s.subscriptions = from, a
		if err := pointblock.Select(from.Value, &s.record, a.mayMatch); err != nil {
			r.metrics.skipped(err) // the consumer writes it to the dead letter queue with the reason
			continue
		}
		if len(s.record.Spans)+len(s.record.Deletions) == 0 {
			r.metrics.skipped(nil)
			continue
		}
		a.addUnresolved(&s.record)
		n++
	}
	r.scanned = r.scanned[:n]
}

// redriven reports whether the record is a redriven dead letter. Its points were accepted
// and streamed when it was first written.
func redriven(record *kgo.Record) bool {
	return slices.ContainsFunc(record.Headers, func(h kgo.RecordHeader) bool { return h.Key == kafka.HeaderVersion })
}

// mayMatch reports whether a stream may select the series. It does not check the name and
// the node of the source; match does that later.
func (a *subscriptions) mayMatch(span *pointblock.Span) bool {
	if m := a.matches[span.SeriesID]; m != nil {
		return m != noMatch
	}
	tags, read := []pointblock.Tag(nil), false
	for _, s := range a.streams {
		if !s.selector.source(&span.Source) || !s.selector.metric(span.Metric()) {
			continue
		}
		if len(s.selector.Tags) > 0 && !read {
			tags, read = span.Tags(), true
		}
		if s.selector.tags(tags) {
			return true
		}
	}
	return false
}

// addUnresolved adds the sources that must be loaded before the record can be delivered.
func (a *subscriptions) addUnresolved(record *pointblock.Record) {
	for i := range record.Spans {
		a.unresolved[record.Spans[i].Source] = struct{}{}
	}
	// The deletion of the workspace is not delivered: its keys are invalid, so its streams
	// end.
	record.Deletions = slices.DeleteFunc(record.Deletions, func(d pointblock.Deletion) bool { return d.WholeWorkspace })
	for i := range record.Deletions {
		a.unresolved[record.Deletions[i].Source] = struct{}{}
	}
}

// resolveSources loads the sources of the scanned records.
func (r *router) resolveSources(ctx context.Context) error {
	for i := range r.scanned {
		a := r.scanned[i].subscriptions
		if len(a.unresolved) == 0 {
			continue
		}
		if err := a.load(ctx, a.unresolved); err != nil {
			return err
		}
		clear(a.unresolved)
	}
	return nil
}

// deliver puts the scanned records into the queues. It removes streams that do not keep up.
func (r *router) deliver() {
	for i := range r.scanned {
		s := &r.scanned[i]
		for _, d := range r.route(s) {
			if d.subscriber.queue.put(d.Delivery) {
				r.metrics.dropped(SlowReader)
				r.remove(d.subscriber)
			}
		}
		s.from, s.subscriptions = nil, nil
		s.record.Release()
	}
	r.limitCache()
}

// limitCache clears all caches if one exceeds its limit.
func (r *router) limitCache() {
	sources := 0
	for _, a := range r.workspaces {
		sources += len(a.labels)
	}
	if r.matches <= r.maxCached && sources <= r.maxCached {
		return
	}
	for _, a := range r.workspaces {
		r.clearMatches(a)
		clear(a.labels)
	}
}

// routedDelivery is a delivery with its subscriber.
type routedDelivery struct {
	Delivery
	subscriber *subscriber
}

// route returns the deliveries of a record.
func (r *router) route(s *scanned) (list []routedDelivery) {
	for i := range s.record.Spans {
		span := &s.record.Spans[i]
		m := r.match(s.subscriptions, span)
		if m == noMatch {
			continue
		}
		block, bytes := decode(span, m.series)
		for _, stream := range m.streams {
			if s.from.Offset >= stream.from[s.from.Partition] {
				d := deliveryFor(&list, s, stream)
				d.Blocks = append(d.Blocks, block)
				d.bytes += bytes
			}
		}
	}
	for i := range s.record.Deletions {
		r.routeDeletion(s, &s.record.Deletions[i], &list)
	}
	return list
}

// deliveryFor returns the delivery for a stream in list, which it adds if there is none.
func deliveryFor(list *[]routedDelivery, s *scanned, stream *subscriber) *routedDelivery {
	for i := range *list {
		if (*list)[i].subscriber == stream {
			return &(*list)[i]
		}
	}
	*list = append(*list, routedDelivery{subscriber: stream, Delivery: Delivery{
		partition: s.from.Partition, next: s.from.Offset + 1, receivedUS: s.record.ReceivedAtUS, bytes: deliveryBytes}})
	return &(*list)[len(*list)-1]
}

// match returns the streams that select a series whose source is loaded.
func (r *router) match(a *subscriptions, span *pointblock.Span) *match {
	if m := a.matches[span.SeriesID]; m != nil {
		return m
	}
	m, label, tags := noMatch, a.labels[span.Source], span.Tags()
	// Points of a deleted source are ignored, and values that only PromQL has.
	if label != nil && !label.Deleted && span.Kind != pointblock.KindSpecial {
		var streams []*subscriber
		for _, s := range a.streams {
			sel := &s.selector
			if sel.source(&span.Source) && sel.metric(span.Metric()) && sel.label(label) && sel.tags(tags) {
				streams = append(streams, s)
			}
		}
		if len(streams) > 0 {
			m = &match{streams: streams, series: newSeries(span, label, tags)}
		}
	}
	a.matches[span.SeriesID] = m
	r.matches++
	return m
}

func newSeries(span *pointblock.Span, label *registry.SourceLabel, tags []pointblock.Tag) *Series {
	s := &Series{
		Source: span.Source, SourceName: label.Name, Metric: string(span.Metric()),
		IsString: span.Kind == pointblock.KindString,
		Tags:     map[string]string{},
	}
	s.Unit = label.MetricUnit(s.Metric)
	for _, t := range tags {
		s.Tags[t.Key] = t.Value
	}
	return s
}

// Estimated sizes in bytes: of a delivery and a block without their points, of a number point, and
// of a string in addition to its bytes.
const (
	deliveryBytes = 128
	blockBytes    = 160
	pointBytes    = 16
	textBytes     = 24
)

func decode(span *pointblock.Span, series *Series) (block *Block, bytes int64) {
	block = &Block{Series: series, TS: span.AppendTimestamps(nil)}
	bytes = blockBytes + pointBytes*int64(span.Count)
	if !series.IsString {
		block.Numbers = span.AppendValues(nil)
		return block, bytes
	}
	texts := span.AppendStrings(nil)
	block.Strings = make([]*string, len(texts))
	for i := range texts {
		block.Strings[i] = &texts[i]
		bytes += textBytes + int64(len(texts[i]))
	}
	return block, bytes
}

// routeDeletion adds a deletion to the deliveries of all streams that may select deleted points.
// It ignores tags, because a deletion does not contain the tags of its series.
func (r *router) routeDeletion(s *scanned, d *pointblock.Deletion, list *[]routedDelivery) {
	a := s.subscriptions
	label := a.labels[d.Source]
	deletion := Deletion{Source: d.Source, SourceName: label.Name, WholeSource: d.WholeSource}
	if d.HasMetric {
		deletion.Metric = &d.Metric
	}
	if d.HasFrom {
		deletion.FromUS = &d.FromUS
	}
	if d.HasTo {
		deletion.ToUS = &d.ToUS
	}
	for _, stream := range a.streams {
		sel := &stream.selector
		if s.from.Offset < stream.from[s.from.Partition] || !sel.source(&d.Source) || !sel.label(label) {
			continue
		}
		if d.HasMetric && !sel.metric([]byte(d.Metric)) {
			continue
		}
		delivery := deliveryFor(list, s, stream)
		delivery.Deletions = append(delivery.Deletions, deletion)
	}
	if d.WholeSource {
		a.markDeleted(d.Source)
		r.clearMatches(a)
	}
}

// refresh refreshes the sources of the workspace whose last refresh is the oldest, if it is
// older than refreshInterval.
func (r *router) refresh(ctx context.Context) {
	var oldest *subscriptions
	for _, a := range r.workspaces {
		if oldest == nil || a.read.Before(oldest.read) {
			oldest = a
		}
	}
	if oldest == nil || time.Since(oldest.read) < refreshInterval {
		return
	}
	changed, err := oldest.refresh(ctx)
	if changed {
		r.clearMatches(oldest)
	}
	if err != nil {
		r.log.DebugContext(ctx, "the names of sources cannot be read", "error", err)
	}
}
