package consumers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/storage/kafka"
)

// batch is a Batch with its records and the offsets at which it ends.
type batch struct {
	Batch
	records       []*kgo.Record
	deadLetters   []kafka.DeadLetter
	next          map[int32]kgo.EpochOffset
	bytes         int
	firstPolled   time.Time // time at which the first record was polled
	firstProduced time.Time // time at which that record was produced
	taken         time.Time // time at which the batch was taken
	small         bool      // it was taken because it was due, not because it was full
	done          chan struct{}
	span          trace.Span // from the start of preparing to the commit; nil: not traced
}

func (b *batch) empty() bool { return len(b.next) == 0 }

// offsets returns the batch's end offsets without leader epochs.
func (b *batch) offsets() map[int32]int64 {
	next := make(map[int32]int64, len(b.next))
	for p, o := range b.next {
		next[p] = o.Offset
	}
	return next
}

// accumulator collects records into batches. A batch is taken when it is full or, while no other
// batch is in flight, when it is due. So inserts are large when the store is the bottleneck and
// prompt when it is not.
type accumulator struct {
	cfg     Config
	handler Handler

	mu        sync.Mutex
	current   *batch
	waiting   []*batch  // full, in order, before current; only in the pipeline of one partition
	inFlight  []*batch  // taken and not finished, in order
	lastTaken time.Time // time at which a batch was last taken
	// smallTook is how long the last batch took to process, 0 unless it was small.
	smallTook time.Duration
	drained   bool   // the log contained no more records at the last add
	force     bool   // the current batch is due now
	closed    bool   // no more records are added
	resume    func() // resumes fetching; nil: fetching is not paused

	wake  chan struct{} // signals a change to next
	space chan struct{} // signals a change to waitForSpace
}

func newAccumulator(cfg Config, handler Handler) *accumulator {
	in := &accumulator{cfg: cfg, handler: handler, wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
	in.current = in.newBatch()
	return in
}

func (in *accumulator) newBatch() *batch {
	return &batch{Batch: in.handler.NewBatch(), next: map[int32]kgo.EpochOffset{}, done: make(chan struct{})}
}

// notify wakes the receiver of a channel with capacity 1. It does not block.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add adds the records of a poll. drained means that the log contains no more records.
func (in *accumulator) add(records []*kgo.Record, drained bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := in.current
	if b.empty() && len(records) > 0 {
		b.firstPolled, b.firstProduced = time.Now(), records[0].Timestamp
	}
	for _, r := range records {
		if in.cfg.ByPartition && in.full() {
			in.waiting = append(in.waiting, b)
			b = in.newBatch()
			b.firstPolled, b.firstProduced = time.Now(), r.Timestamp
			in.current = b
		}
		b.bytes += len(r.Key) + len(r.Value)
		b.next[r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		if err := b.Add(r); err != nil {
			b.deadLetters = append(b.deadLetters, unreadable(r, err))
			continue
		}
		b.records = append(b.records, r)
	}
	in.drained = drained
	notify(in.wake)
}

func (in *accumulator) full() bool {
	rows, bytes := in.current.Rows(), in.current.bytes
	if rows >= in.cfg.BatchRows || bytes >= in.cfg.BatchBytes || in.current.Full() {
		return true
	}
	return in.cfg.Hooks.Full != nil && in.cfg.Hooks.Full(rows, bytes)
}

// waitForSpace waits until the current batch is not full. It returns false if ctx is done.
func (in *accumulator) waitForSpace(ctx context.Context) bool {
	for {
		in.mu.Lock()
		full := in.full()
		in.mu.Unlock()
		if !full {
			return ctx.Err() == nil
		}
		select {
		case <-in.space:
		case <-ctx.Done():
			return false
		}
	}
}

// pauseIfFull pauses fetching while the size of two batches waits. A resumed partition gets its
// next records only after the fetch in progress, which does not request it and lasts up to the
// maximum wait of a fetch. So one full batch does not pause fetching, and fetching resumes while
// one batch is left to process.
func (in *accumulator) pauseIfFull(pause func(bool)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.resume == nil && in.waitingBytes() >= 2*in.cfg.BatchBytes {
		pause(true)
		in.resume = func() { pause(false) }
	}
}

// resumeIfLow resumes fetching when at most the size of one batch waits.
func (in *accumulator) resumeIfLow() {
	if in.resume != nil && in.waitingBytes() <= in.cfg.BatchBytes {
		in.resume()
		in.resume = nil
	}
}

// waitingBytes returns the size of the records in batches that are not yet taken.
func (in *accumulator) waitingBytes() int {
	sum := in.current.bytes
	for _, b := range in.waiting {
		sum += b.bytes
	}
	return sum
}

// next waits for a batch and takes it. It returns nil if the accumulator is closed and empty or
// ctx is done.
func (in *accumulator) next(ctx context.Context) *batch {
	for {
		b, wait, over := in.tryNext()
		if b != nil || over {
			return b
		}
		timer := time.NewTimer(wait)
		select {
		case <-in.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// tryNext takes a batch if one is full or due. Otherwise it returns the maximum time to wait. over
// means that no more batches follow.
func (in *accumulator) tryNext() (taken *batch, wait time.Duration, over bool) {
	const idleWait = time.Hour
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.waiting) > 0 {
		taken, in.waiting = in.waiting[0], in.waiting[1:]
		in.markInFlight(taken, false)
		return taken, 0, false
	}
	b := in.current
	if b.empty() {
		return nil, idleWait, in.closed
	}
	full := in.full()
	if !full && !in.force && !in.closed {
		if len(in.inFlight) > 0 {
			return nil, idleWait, false
		}
		if wait := time.Until(in.due()); wait > 0 {
			return nil, wait, false
		}
	}
	in.current, in.force = in.newBatch(), false
	in.markInFlight(b, !full)
	return b, 0, false
}

// markInFlight records that a batch was taken.
func (in *accumulator) markInFlight(b *batch, small bool) {
	in.lastTaken = time.Now()
	in.smallTook = 0
	b.taken, b.small = in.lastTaken, small
	in.inFlight = append(in.inFlight, b)
	notify(in.space)
	in.resumeIfLow()
}

// smallBatchShare is the minimum time between two small batches, as a multiple of the time that the last
// one took. A store needs most of the time of a small batch for its statements, so many small batches
// would keep a busy machine from anything else.
const smallBatchShare = 3

// due returns the time at which the current batch is taken even if it is not full. That is
// BatchWait after its first record or, if the log is drained, BatchWait after the last batch was
// taken, if that is earlier. If small batches take long, it is later, up to MaxWait.
func (in *accumulator) due() time.Time {
	dueAt := in.current.firstPolled.Add(in.cfg.BatchWait)
	if soonest := in.lastTaken.Add(in.cfg.BatchWait); in.drained && soonest.Before(dueAt) {
		dueAt = soonest
	}
	spaced := in.lastTaken.Add(min(smallBatchShare*in.smallTook, in.cfg.MaxWait))
	if spaced.After(dueAt) {
		dueAt = spaced
	}
	return dueAt
}

// finish removes a taken batch and closes its channel done.
func (in *accumulator) finish(b *batch) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inFlight = slices.DeleteFunc(in.inFlight, func(other *batch) bool { return other == b })
	if b.small && b.taken.Equal(in.lastTaken) {
		in.smallTook = time.Since(b.taken)
	}
	close(b.done)
	notify(in.wake)
}

// close declares that no more records are added. The remaining batches can still be taken.
func (in *accumulator) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	notify(in.wake)
}

// flush makes all added records due and waits until their batches are finished. It returns false
// if ctx is done first.
func (in *accumulator) flush(ctx context.Context) bool {
	in.mu.Lock()
	pending := slices.Concat(in.inFlight, in.waiting)
	if !in.current.empty() {
		in.force = true
		pending = append(pending, in.current)
	}
	notify(in.wake)
	in.mu.Unlock()
	for _, b := range pending {
		select {
		case <-b.done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// ownedPartitions tracks the partitions that are assigned to this member.
type ownedPartitions struct {
	mu         sync.Mutex
	partitions map[int32]bool
	lag        map[int32]int64 // number of records not yet polled, by partition
}

func newOwnedPartitions() *ownedPartitions {
	return &ownedPartitions{partitions: map[int32]bool{}, lag: map[int32]int64{}}
}

// add adds partitions and returns all that are owned.
func (o *ownedPartitions) add(start map[int32]int64) map[int32]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range start {
		o.partitions[p] = true
	}
	return maps.Clone(o.partitions)
}

// remove removes partitions and returns those that remain.
func (o *ownedPartitions) remove(partitions []int32) map[int32]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range partitions {
		delete(o.partitions, p)
		delete(o.lag, p)
	}
	return maps.Clone(o.partitions)
}

// filter returns the offsets of owned partitions.
func (o *ownedPartitions) filter(next map[int32]kgo.EpochOffset) map[int32]kgo.EpochOffset {
	o.mu.Lock()
	defer o.mu.Unlock()
	filtered := maps.Clone(next)
	maps.DeleteFunc(filtered, func(p int32, _ kgo.EpochOffset) bool { return !o.partitions[p] })
	return filtered
}

// updateLag updates the lag of the fetched partitions and returns the sum over all owned
// partitions.
func (o *ownedPartitions) updateLag(fetches kgo.Fetches) (lag int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if n := len(p.Records); n > 0 {
			o.lag[p.Partition] = max(p.HighWatermark-p.Records[n-1].Offset-1, 0)
		}
	})
	for _, n := range o.lag {
		lag += n
	}
	return lag
}
