package consumers

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// shared is the lane of all partitions.
const shared int32 = -1

// lanes are those of a session. A lane begins with the first record for it.
//
// With one lane for all partitions a batch that takes long holds up whatever is behind
// it. With one for each, it holds up its own partition: when that has enough, no more of
// it is fetched, and the others go on.
type lanes struct {
	session *session
	work    errgroup.Group

	mu sync.Mutex
	of map[int32]*lane
}

// lane returns the one of a partition.
func (ls *lanes) lane(partition int32) *lane {
	if !ls.session.cfg.ByPartition {
		partition = shared
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l, ok := ls.of[partition]; ok {
		return l
	}
	l := newLane(ls.session, partition)
	if ls.of == nil {
		ls.of = map[int32]*lane{}
	}
	ls.of[partition] = l
	ls.work.Go(l.run)
	return l
}

// add takes the records of a poll; drained says that the log holds no more.
func (ls *lanes) add(records []*kgo.Record, drained bool) {
	if !ls.session.cfg.ByPartition {
		ls.lane(shared).intake.add(records, drained)
		return
	}
	for len(records) > 0 { // a poll has them partition by partition
		partition, n := records[0].Partition, 1
		for n < len(records) && records[n].Partition == partition {
			n++
		}
		in := ls.lane(partition).intake
		in.add(records[:n], drained)
		if ls.session.group != nil {
			in.pauseIfFull(func(pause bool) { ls.session.group.Pause(partition, pause) })
		}
		records = records[n:]
	}
}

// waitForSpace waits until records can be taken up. False: ctx is done.
func (ls *lanes) waitForSpace(ctx context.Context) bool {
	if ls.session.cfg.ByPartition {
		return ctx.Err() == nil // who is full is not fetched
	}
	return ls.lane(shared).intake.waitForSpace(ctx)
}

// some returns the lanes that some partitions go through.
func (ls *lanes) some(partitions []int32) (found []*lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l, ok := ls.of[shared]; ok {
		return []*lane{l}
	}
	for _, p := range partitions {
		if l, ok := ls.of[p]; ok {
			found = append(found, l)
		}
	}
	return found
}

// flush has everything stored that has been added of some partitions, and waits until it
// is done with. False: ctx was done first.
func (ls *lanes) flush(ctx context.Context, partitions []int32) bool {
	whole := true
	for _, l := range ls.some(partitions) {
		whole = l.intake.flush(ctx) && whole
	}
	return ls.finish(ctx, partitions) == nil && whole
}

// finish waits for what the handler does beside its batches.
func (ls *lanes) finish(ctx context.Context, partitions []int32) error {
	if f, ok := ls.session.handler.(finisher); ok {
		return f.Finish(ctx, partitions)
	}
	return nil
}

// drop ends the lanes of partitions that have gone: what is in flight there is thrown
// away. A partition that comes back gets a new lane.
func (ls *lanes) drop(partitions []int32) {
	if !ls.session.cfg.ByPartition {
		return
	}
	for _, l := range ls.some(partitions) {
		l.leave()
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, p := range partitions {
		delete(ls.of, p)
		if ls.session.group != nil {
			ls.session.group.Pause(p, false)
		}
	}
}

// close has everything stored that was added, and waits for that. No more comes.
func (ls *lanes) close() error {
	ls.mu.Lock()
	for _, l := range ls.of {
		l.intake.close()
	}
	ls.mu.Unlock()
	return ls.work.Wait()
}
