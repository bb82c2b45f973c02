package demo

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	maxBuffered      = 200_000 // points: about half an hour
	maxRequestPoints = 10_000  // points of a request
	// sourceLookupInterval is the time between two look-ups of sources after points of them were refused.
	sourceLookupInterval = 10 * time.Second
	keyRetryInterval     = 5 * time.Second // between two attempts to create a key
)

// buffer holds the batches that were measured and not sent yet, in order. When it is full, it drops the oldest.
type buffer struct {
	mu      sync.Mutex
	batches [][]machine.Sample
	points  int
	limit   int
	dropped int64
	changed chan struct{}
	closed  chan struct{}
}

func newBuffer(limit int) *buffer {
	return &buffer{limit: limit, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (b *buffer) push(batch []machine.Sample) {
	b.mu.Lock()
	b.batches = append(b.batches, batch)
	b.points += len(batch)
	for b.points > b.limit {
		b.dropped += int64(len(b.batches[0]))
		b.points -= len(b.batches[0])
		b.batches = b.batches[1:]
	}
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// pop waits for points, and removes and returns the oldest batches with at most limit points together, but at least one
// batch. It returns nil once the buffer is closed and empty, or ctx ends.
func (b *buffer) pop(ctx context.Context, limit int) []machine.Sample {
	for closed := false; ; {
		b.mu.Lock()
		var batch []machine.Sample
		for len(b.batches) > 0 && (batch == nil || len(batch)+len(b.batches[0]) <= limit) {
			batch = append(batch, b.batches[0]...)
			b.points -= len(b.batches[0])
			b.batches = b.batches[1:]
		}
		b.mu.Unlock()
		if batch != nil || closed || ctx.Err() != nil {
			return batch
		}
		select {
		case <-b.changed:
		case <-b.closed:
			closed = true
		case <-ctx.Done():
		}
	}
}

// close ends take when the buffer is empty; nothing is pushed after it.
func (b *buffer) close() { close(b.closed) }

func (b *buffer) counts() (pending int, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.points, b.dropped
}

// publisher sends the batches of the buffer: the points of one interval per request, or of several when it catches up.
type publisher struct {
	*session
	described map[string]machine.Source // by name
	ids       map[string]string         // id by name, of the sources that exist
	lookedUp  time.Time
	// acknowledged receives the newest acknowledged ingest.
	acknowledged chan acknowledgement
}

// acknowledgement is an ingest that was answered.
type acknowledgement struct {
	checkpoint string
	at         time.Time
	ids        map[string]string // the sources' ids by name
}

func newPublisher(s *session, acknowledged chan acknowledgement) *publisher {
	p := &publisher{
		session: s, described: map[string]machine.Source{}, ids: map[string]string{}, acknowledged: acknowledged,
	}
	for _, source := range s.sampler.Sources() {
		p.described[source.Name] = source
	}
	return p
}

// run sends until the buffer is closed and empty or ctx ends. It counts the points that cannot be sent.
func (p *publisher) run(ctx context.Context) error {
	for {
		batch := p.buffer.pop(ctx, maxRequestPoints)
		if batch == nil {
			return nil
		}
		if err := p.send(ctx, batch); err != nil {
			return err
		}
	}
}

// send sends a batch. It renews a refused key, looks sources up again when points are refused, and fails only when
// the key may not write.
func (p *publisher) send(ctx context.Context, batch []machine.Sample) error {
	for attempt := 0; ; attempt++ {
		key, _, due := p.keys.current(time.Now())
		if due {
			p.renew(ctx, key)
		}
		err := p.try(ctx, batch)
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil && fault.Is(err, fault.Unauthenticated):
			if (!p.renew(ctx, key) || attempt > 0) && !sleep.For(ctx, keyRetryInterval) {
				p.stats.update(func(s *stats) { s.unsent += int64(len(batch)) })
				return nil
			}
			continue
		case ctx.Err() == nil && fault.Is(err, fault.Forbidden):
			return fmt.Errorf("the demo's key may not write to the workspace: %w", err)
		case fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound):
			if p.forgetSources() {
				continue
			}
			p.stats.update(func(s *stats) { s.rejected += int64(len(batch)) })
		default:
			p.stats.update(func(s *stats) { s.unsent += int64(len(batch)) })
		}
		if ctx.Err() == nil {
			p.stats.update(func(s *stats) { s.refusal = publicText(err) })
			p.note("a batch was given up: " + err.Error())
		}
		return nil
	}
}

func (p *publisher) renew(ctx context.Context, stale string) bool {
	err := p.keys.renew(ctx, stale)
	if err != nil && ctx.Err() == nil {
		p.note(err.Error())
	}
	return err == nil
}

// try creates the sources that are missing and sends the batch.
func (p *publisher) try(ctx context.Context, batch []machine.Sample) error {
	points := make([]client.Point, len(batch))
	for i, sample := range batch {
		id, err := p.sourceID(ctx, sample.Source)
		if err != nil {
			return err
		}
		points[i] = client.Point{
			SourceID: id, Metric: sample.Metric, Timestamp: sample.At.UnixMilli(), Value: sample.Value, Tags: sample.Tags,
		}
	}
	receipt, err := p.client.IngestPoints(ctx, points)
	if err != nil {
		return err
	}
	now := time.Now()
	p.stats.recordIngest(now, receipt.Accepted, receipt.Rejected, receipt.Took)
	if len(receipt.Errors) > 0 {
		p.stats.update(func(s *stats) { s.refusal = receipt.Errors[0].Field + ": " + receipt.Errors[0].Reason })
		p.forgetSources()
	}
	select { // replace one that was not received
	case <-p.acknowledged:
	default:
	}
	p.acknowledged <- acknowledgement{receipt.Checkpoint, now, maps.Clone(p.ids)}
	return nil
}

// sourceID returns the id of a source and creates the source if it does not exist.
func (p *publisher) sourceID(ctx context.Context, name string) (string, error) {
	if id, ok := p.ids[name]; ok {
		return id, nil
	}
	described := p.described[name]
	wanted := client.Source{
		Name: name, Description: described.Description, Tags: described.Tags, NodeID: p.nodeOf(name),
		IntervalSeconds: p.options.Interval.Seconds(),
	}
	for _, m := range described.Metrics {
		wanted.Metrics = append(wanted.Metrics, client.Metric{Name: m.Name, Unit: m.Unit, Description: m.Description})
	}
	source, _, err := p.client.EnsureSource(ctx, wanted)
	if err == nil {
		p.ids[name] = source.ID
	}
	return source.ID, err
}

// forgetSources clears the cached sources, because a deleted source is the likely cause of a refusal. It returns false
// if the cache was cleared within sourceLookupInterval.
func (p *publisher) forgetSources() bool {
	if time.Since(p.lookedUp) < sourceLookupInterval {
		return false
	}
	p.lookedUp = time.Now()
	clear(p.ids)
	return true
}
