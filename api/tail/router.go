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

// subscriber is a stream as the router sees it.
type subscriber struct {
	workspace uuid.UUID
	selector  selector
	queue     *queue

	// What the tail sets when it takes it in.
	topic kafka.TopicInfo
	from  map[int32]int64 // records below are not for it; nil: all are
}

// router puts what records have into the queues of who wants it. It belongs to one
// goroutine.
type router struct {
	store     sourceStore
	metrics   *metrics
	log       *slog.Logger
	audiences map[uuid.UUID]*audience
	matches   int // that audiences remember, together
	most      int // of them, and of sources

	scanned []scanned // of the poll under way, kept for the next
}

// audience is who listens to a workspace.
type audience struct {
	directory
	streams []*subscriber
	matches map[uint64]*match // by the series' registered id
	wanted  map[uuid.UUID]struct{}
}

// match is who wants a series. It is remembered, because a series comes again and
// again.
type match struct {
	series  *Series
	streams []*subscriber
}

// nobody requires the series.
var nobody = &match{}

// mostRemembered bounds the series that the shared tail remembers, and the sources.
// Beyond, it begins again. A tail of one stream has less.
const (
	mostRemembered   = 50_000
	mostRememberedBy = 5_000
)

// scanned is a record with something for somebody.
type scanned struct {
	from     *kgo.Record
	audience *audience
	record   pointblock.Record
}

func newRouter(store sourceStore, m *metrics, log *slog.Logger, most int) *router {
	return &router{store: store, metrics: m, log: log, most: most, audiences: map[uuid.UUID]*audience{}}
}

func (r *router) add(s *subscriber) {
	a := r.audiences[s.workspace]
	if a == nil {
		a = &audience{
			directory: directory{
				store: r.store, workspace: s.workspace, labels: map[uuid.UUID]*registry.SourceLabel{}, read: time.Now(),
			},
			matches: map[uint64]*match{}, wanted: map[uuid.UUID]struct{}{},
		}
		r.audiences[s.workspace] = a
	}
	a.streams = append(a.streams, s)
	r.forget(a)
}

func (r *router) remove(s *subscriber) {
	a := r.audiences[s.workspace]
	if a == nil {
		return
	}
	a.streams = slices.DeleteFunc(a.streams, func(other *subscriber) bool { return other == s })
	r.forget(a)
	if len(a.streams) == 0 {
		delete(r.audiences, s.workspace)
	}
}

func (r *router) forget(a *audience) {
	r.matches -= len(a.matches)
	clear(a.matches)
}

// subscribers returns all.
func (r *router) subscribers() (list []*subscriber) {
	for _, a := range r.audiences {
		list = append(list, a.streams...)
	}
	return list
}

// scan looks what the records have for whom. A workspace without a stream costs one
// look, and a series that no stream selects is not decoded.
func (r *router) scan(records []*kgo.Record) {
	n := 0
	for _, from := range records {
		workspace, err := pointblock.WorkspaceOf(from.Value)
		a := r.audiences[workspace]
		if err != nil || a == nil || redriven(from) {
			r.metrics.passed(err)
			continue
		}
		if n == len(r.scanned) {
			r.scanned = append(r.scanned, scanned{})
		}
		s := &r.scanned[n]
		s.from, s.audience = from, a
		if err := pointblock.Select(from.Value, &s.record, a.mayWant); err != nil {
			r.metrics.passed(err) // the consumer puts it among the dead letters, and says why
			continue
		}
		if len(s.record.Spans)+len(s.record.Deletions) == 0 {
			r.metrics.passed(nil)
			continue
		}
		a.want(&s.record)
		n++
	}
	r.scanned = r.scanned[:n]
}

// redriven reports whether the record is one of before that was a dead letter: its
// points were accepted then, and streamed.
func redriven(record *kgo.Record) bool {
	return slices.ContainsFunc(record.Headers, func(h kgo.RecordHeader) bool { return h.Key == kafka.HeaderVersion })
}

// mayWant reports whether a stream may select the series; what its source is called is
// looked at later.
func (a *audience) mayWant(span *pointblock.Span) bool {
	if m := a.matches[span.SeriesID]; m != nil {
		return m != nobody
	}
	tags, read := []pointblock.Tag(nil), false
	for _, s := range a.streams {
		if !s.selector.source(&span.Source) || !s.selector.metric(span.Metric) {
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

// want notes the sources that have to be known before the record can be delivered.
func (a *audience) want(record *pointblock.Record) {
	for i := range record.Spans {
		a.wanted[record.Spans[i].Source] = struct{}{}
	}
	// The deletion of the workspace is for nobody: no key opens it any more, so its
	// streams end.
	record.Deletions = slices.DeleteFunc(record.Deletions, func(d pointblock.Deletion) bool { return d.WholeWorkspace })
	for i := range record.Deletions {
		a.wanted[record.Deletions[i].Source] = struct{}{}
	}
}

// find sees to it that the sources of what was scanned are known.
func (r *router) find(ctx context.Context) error {
	for i := range r.scanned {
		a := r.scanned[i].audience
		if len(a.wanted) == 0 {
			continue
		}
		if err := a.find(ctx, a.wanted); err != nil {
			return err
		}
		clear(a.wanted)
	}
	return nil
}

// deliver puts what was scanned into the queues. Streams that do not keep up are
// removed.
func (r *router) deliver() {
	for i := range r.scanned {
		s := &r.scanned[i]
		for _, d := range r.sort(s) {
			if d.to.queue.put(d.Delivery) {
				r.metrics.dropped(SlowReader)
				r.remove(d.to)
			}
		}
		s.from, s.audience = nil, nil
		clear(s.record.Spans) // or what is kept for the next poll would keep the records' bytes
	}
	r.bound()
}

// bound forgets everything when it is too much.
func (r *router) bound() {
	sources := 0
	for _, a := range r.audiences {
		sources += len(a.labels)
	}
	if r.matches <= r.most && sources <= r.most {
		return
	}
	for _, a := range r.audiences {
		r.forget(a)
		clear(a.labels)
	}
}

// addressed is a delivery with whom it is for.
type addressed struct {
	Delivery
	to *subscriber
}

// sort makes a record's deliveries.
func (r *router) sort(s *scanned) (list []addressed) {
	for i := range s.record.Spans {
		span := &s.record.Spans[i]
		m := r.match(s.audience, span)
		if m == nobody {
			continue
		}
		block, bytes := decode(span, m.series)
		for _, stream := range m.streams {
			if s.from.Offset >= stream.from[s.from.Partition] {
				d := delivery(&list, s, stream)
				d.Blocks = append(d.Blocks, block)
				d.bytes += bytes
			}
		}
	}
	for i := range s.record.Deletions {
		r.sortDeletion(s, &s.record.Deletions[i], &list)
	}
	return list
}

// delivery finds the delivery for a stream among the record's, or adds it.
func delivery(list *[]addressed, s *scanned, to *subscriber) *addressed {
	for i := range *list {
		if (*list)[i].to == to {
			return &(*list)[i]
		}
	}
	*list = append(*list, addressed{to: to, Delivery: Delivery{
		partition: s.from.Partition, next: s.from.Offset + 1, receivedUS: s.record.ReceivedAtUS, bytes: deliveryBytes}})
	return &(*list)[len(*list)-1]
}

// match finds who wants a series, now that its source is known.
func (r *router) match(a *audience, span *pointblock.Span) *match {
	if m := a.matches[span.SeriesID]; m != nil {
		return m
	}
	m, label, tags := nobody, a.labels[span.Source], span.Tags()
	if label != nil && !label.Deleted { // else its points are void
		var streams []*subscriber
		for _, s := range a.streams {
			of := &s.selector
			if of.source(&span.Source) && of.metric(span.Metric) && of.label(label) && of.tags(tags) {
				streams = append(streams, s)
			}
		}
		if len(streams) > 0 {
			m = &match{streams: streams, series: describe(span, label, tags)}
		}
	}
	a.matches[span.SeriesID] = m
	r.matches++
	return m
}

func describe(span *pointblock.Span, label *registry.SourceLabel, tags []pointblock.Tag) *Series {
	s := &Series{
		Source: span.Source, SourceName: label.Name, Metric: string(span.Metric), Text: span.Kind == pointblock.KindString,
		Tags: map[string]string{},
	}
	s.Unit = label.MetricUnit(s.Metric)
	for _, t := range tags {
		s.Tags[t.Key] = t.Value
	}
	return s
}

// What a delivery and a block take beside their points, about, bytes.
const (
	deliveryBytes = 128
	blockBytes    = 160
	pointBytes    = 16
	textBytes     = 24
)

func decode(span *pointblock.Span, series *Series) (block *Block, bytes int64) {
	block = &Block{Series: series, TS: span.AppendTimestamps(nil)}
	bytes = blockBytes + pointBytes*int64(span.Count)
	if !series.Text {
		block.Numbers = span.AppendValues(nil)
		return block, bytes
	}
	texts := span.AppendTexts(nil)
	block.Texts = make([]*string, len(texts))
	for i := range texts {
		block.Texts[i] = &texts[i]
		bytes += textBytes + int64(len(texts[i]))
	}
	return block, bytes
}

// sortDeletion tells those whose selection the deletion may touch. Which tags its
// series have it does not say.
func (r *router) sortDeletion(s *scanned, d *pointblock.Deletion, list *[]addressed) {
	a := s.audience
	label := a.labels[d.Source]
	out := Deletion{Source: d.Source, SourceName: label.Name, Whole: d.WholeSource}
	if d.HasMetric {
		out.Metric = &d.Metric
	}
	if d.HasFrom {
		out.FromUS = &d.FromUS
	}
	if d.HasTo {
		out.ToUS = &d.ToUS
	}
	for _, stream := range a.streams {
		of := &stream.selector
		if s.from.Offset < stream.from[s.from.Partition] || !of.source(&d.Source) || !of.label(label) {
			continue
		}
		if d.HasMetric && !of.metric([]byte(d.Metric)) {
			continue
		}
		to := delivery(list, s, stream)
		to.Deletions = append(to.Deletions, out)
	}
	if d.WholeSource {
		a.forget(d.Source)
		r.forget(a)
	}
}

// refresh brings up to date what the sources of one audience are called: that which
// was asked for the longest time ago, if that is long enough.
func (r *router) refresh(ctx context.Context) {
	var oldest *audience
	for _, a := range r.audiences {
		if oldest == nil || a.read.Before(oldest.read) {
			oldest = a
		}
	}
	if oldest == nil || time.Since(oldest.read) < refreshInterval {
		return
	}
	changed, err := oldest.refresh(ctx)
	if changed {
		r.forget(oldest)
	}
	if err != nil {
		r.log.DebugContext(ctx, "what sources are called cannot be read", "error", err)
	}
}
