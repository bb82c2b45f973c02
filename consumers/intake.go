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

// batch is a Batch with the records it is made of and the offsets that it ends at.
type batch struct {
	Batch
	records []*kgo.Record
	letters []kafka.DeadLetter
	next    map[int32]kgo.EpochOffset
	bytes   int
	born    time.Time // when its first record was polled
	oldest  time.Time // when that record was produced
	done    chan struct{}
	span    trace.Span // of the batch from its taking to its commit; nil: it is not traced
}

func (b *batch) empty() bool { return len(b.next) == 0 }

// offsets returns the batch's ends as plain numbers.
func (b *batch) offsets() map[int32]int64 {
	next := make(map[int32]int64, len(b.next))
	for p, o := range b.next {
		next[p] = o.Offset
	}
	return next
}

// intake is where records gather until their batch is taken. A batch is taken
// when it is full, or, while no other is being stored, when it is due: so inserts
// are large when the store is the bottleneck and prompt when it is not.
type intake struct {
	cfg     Config
	handler Handler

	mu       sync.Mutex
	current  *batch
	waiting  []*batch  // full, in order, before current; only of a lane of one partition
	inFlight []*batch  // taken and not finished, in order
	lastTake time.Time // when a batch was last taken
	drained  bool      // the log held no more when the last records came
	force    bool      // take what is there, now
	closed   bool      // no more records come
	resume   func()    // has more fetched; nil: that was not stopped

	wake  chan struct{} // something changed for take
	space chan struct{} // something changed for waitForSpace
}

func newIntake(cfg Config, handler Handler) *intake {
	in := &intake{cfg: cfg, handler: handler, wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
	in.current = in.newBatch()
	return in
}

func (in *intake) newBatch() *batch {
	return &batch{Batch: in.handler.NewBatch(), next: map[int32]kgo.EpochOffset{}, done: make(chan struct{})}
}

// notify wakes anyone who waits on a channel of capacity one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add takes the records of a poll; drained says that the log holds no more.
func (in *intake) add(records []*kgo.Record, drained bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := in.current
	if b.empty() && len(records) > 0 {
		b.born, b.oldest = time.Now(), records[0].Timestamp
	}
	for _, r := range records {
		if in.cfg.ByPartition && in.full() {
			in.waiting = append(in.waiting, b)
			b = in.newBatch()
			b.born, b.oldest = time.Now(), r.Timestamp
			in.current = b
		}
		b.bytes += len(r.Key) + len(r.Value)
		b.next[r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		if err := b.Add(r); err != nil {
			b.letters = append(b.letters, unreadable(r, err))
			continue
		}
		b.records = append(b.records, r)
	}
	in.drained = drained
	notify(in.wake)
}

func (in *intake) full() bool {
	if Full(in.current.Batch) {
		return true
	}
	if s, ok := in.handler.(sizer); ok && s.Full(in.current.Rows(), in.current.bytes) {
		return true
	}
	return in.current.Rows() >= in.cfg.BatchRows || in.current.bytes >= in.cfg.BatchBytes
}

// waitForSpace waits until the current batch is not full. False: ctx is done.
func (in *intake) waitForSpace(ctx context.Context) bool {
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

// pauseIfFull has no more fetched while two batches' worth of bytes wait. A partition that
// is fetched again has its next records only after the fetch under way, which does not ask
// for it and lasts up to the longest wait of a fetch. So it is not stopped for one full
// batch, and goes on while there is one left to work on.
func (in *intake) pauseIfFull(pause func(bool)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.resume == nil && in.waitingBytes() >= 2*in.cfg.BatchBytes {
		pause(true)
		in.resume = func() { pause(false) }
	}
}

// resumeIfLow has more fetched when one batch's worth of bytes is left.
func (in *intake) resumeIfLow() {
	if in.resume != nil && in.waitingBytes() <= in.cfg.BatchBytes {
		in.resume()
		in.resume = nil
	}
}

// waitingBytes is how many bytes of records wait to be taken.
func (in *intake) waitingBytes() int {
	sum := in.current.bytes
	for _, b := range in.waiting {
		sum += b.bytes
	}
	return sum
}

// take waits for a batch to prepare. Nil: there will be none, or ctx is done.
func (in *intake) take(ctx context.Context) *batch {
	for {
		b, wait, over := in.tryTake()
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

// tryTake takes the batch if it is time, else reports how long to wait at most.
func (in *intake) tryTake() (taken *batch, wait time.Duration, over bool) {
	const nothing = time.Hour
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.waiting) > 0 {
		taken, in.waiting = in.waiting[0], in.waiting[1:]
		in.took(taken)
		return taken, 0, false
	}
	b := in.current
	if b.empty() {
		return nil, nothing, in.closed
	}
	if !in.full() && !in.force && !in.closed {
		if len(in.inFlight) > 0 {
			return nil, nothing, false
		}
		if wait := time.Until(in.due()); wait > 0 {
			return nil, wait, false
		}
	}
	in.current, in.force = in.newBatch(), false
	in.took(b)
	return b, 0, false
}

// took notes that a batch is in flight.
func (in *intake) took(b *batch) {
	in.lastTake = time.Now()
	in.inFlight = append(in.inFlight, b)
	notify(in.space)
	in.resumeIfLow()
}

// due returns when the current batch is to be taken if it does not fill up before:
// at its age, or, when nothing more is there to wait for, as soon as the last
// small batch was long enough ago.
func (in *intake) due() time.Time {
	due := in.current.born.Add(in.cfg.BatchWait)
	if soonest := in.lastTake.Add(in.cfg.BatchWait); in.drained && soonest.Before(due) {
		due = soonest
	}
	return due
}

// finish reports that a batch that was taken is done with.
func (in *intake) finish(b *batch) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inFlight = slices.DeleteFunc(in.inFlight, func(other *batch) bool { return other == b })
	close(b.done)
	notify(in.wake)
}

// close reports that no more records come: what is there is taken, then no more.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	notify(in.wake)
}

// flush has everything taken that has been added, and waits until it is done with.
// False: ctx was done first.
func (in *intake) flush(ctx context.Context) bool {
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

// owned are the partitions that are ours.
type owned struct {
	mu         sync.Mutex
	partitions map[int32]bool
	behind     map[int32]int64 // records that are not yet polled
}

func newOwned() *owned {
	return &owned{partitions: map[int32]bool{}, behind: map[int32]int64{}}
}

// add takes partitions up and gives all that are ours then.
func (o *owned) add(start map[int32]int64) map[int32]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range start {
		o.partitions[p] = true
	}
	return maps.Clone(o.partitions)
}

// remove lets partitions go and gives those that stay.
func (o *owned) remove(partitions []int32) map[int32]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range partitions {
		delete(o.partitions, p)
		delete(o.behind, p)
	}
	return maps.Clone(o.partitions)
}

// of keeps of some offsets those of our partitions.
func (o *owned) of(next map[int32]kgo.EpochOffset) map[int32]kgo.EpochOffset {
	o.mu.Lock()
	defer o.mu.Unlock()
	ours := maps.Clone(next)
	maps.DeleteFunc(ours, func(p int32, _ kgo.EpochOffset) bool { return !o.partitions[p] })
	return ours
}

// see notes how far behind the end of the log partitions are, and gives the sum
// over all of ours.
func (o *owned) see(fetches kgo.Fetches) (lag int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if n := len(p.Records); n > 0 {
			o.behind[p.Partition] = max(p.HighWatermark-p.Records[n-1].Offset-1, 0)
		}
	})
	for _, n := range o.behind {
		lag += n
	}
	return lag
}
