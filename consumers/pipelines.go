package consumers

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// allPartitions is the key of the pipeline for all partitions.
const allPartitions int32 = -1

// pipelines contains the pipelines of a session. A pipeline starts with its first record.
//
// With one pipeline for all partitions, a batch that takes long delays all records after it.
// With one pipeline per partition, it delays only its own partition: fetching of that partition
// pauses when enough of its records wait, and the other partitions continue.
type pipelines struct {
	session *session
	work    errgroup.Group

	mu          sync.Mutex
	byPartition map[int32]*pipeline
}

// get returns the pipeline of a partition. It starts the pipeline if there is none.
func (ls *pipelines) get(partition int32) *pipeline {
	if !ls.session.cfg.ByPartition {
		partition = allPartitions
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l, ok := ls.byPartition[partition]; ok {
		return l
	}
	l := newPipeline(ls.session, partition)
	if ls.byPartition == nil {
		ls.byPartition = map[int32]*pipeline{}
	}
	ls.byPartition[partition] = l
	ls.work.Go(l.run)
	return l
}

// add adds the records of a poll. drained means that the log contains no more records.
func (ls *pipelines) add(records []*kgo.Record, drained bool) {
	if !ls.session.cfg.ByPartition {
		ls.get(allPartitions).accumulator.add(records, drained)
		return
	}
	for len(records) > 0 { // a poll returns them grouped by partition
		partition, n := records[0].Partition, 1
		for n < len(records) && records[n].Partition == partition {
			n++
		}
		in := ls.get(partition).accumulator
		in.add(records[:n], drained)
		if ls.session.group != nil {
			in.pauseIfFull(func(pause bool) { ls.session.group.Pause(partition, pause) })
		}
		records = records[n:]
	}
}

// waitForSpace waits until records can be added. It returns false if ctx is done.
func (ls *pipelines) waitForSpace(ctx context.Context) bool {
	if ls.session.cfg.ByPartition {
		return ctx.Err() == nil // a full partition is not fetched
	}
	return ls.get(allPartitions).accumulator.waitForSpace(ctx)
}

// forPartitions returns the pipelines that process the partitions.
func (ls *pipelines) forPartitions(partitions []int32) (found []*pipeline) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l, ok := ls.byPartition[allPartitions]; ok {
		return []*pipeline{l}
	}
	for _, p := range partitions {
		if l, ok := ls.byPartition[p]; ok {
			found = append(found, l)
		}
	}
	return found
}

// flush waits until all added records of the partitions are stored. It returns false if ctx is
// done first.
func (ls *pipelines) flush(ctx context.Context, partitions []int32) bool {
	complete := true
	for _, l := range ls.forPartitions(partitions) {
		complete = l.accumulator.flush(ctx) && complete
	}
	return ls.finish(ctx, partitions) == nil && complete
}

// finish waits for the work that the handler does in addition to its batches.
func (ls *pipelines) finish(ctx context.Context, partitions []int32) error {
	if finish := ls.session.cfg.Hooks.Finish; finish != nil {
		return finish(ctx, partitions)
	}
	return nil
}

// drop ends the pipelines of revoked partitions and discards their batches in flight. A partition
// that is assigned again gets a new pipeline.
func (ls *pipelines) drop(partitions []int32) {
	if !ls.session.cfg.ByPartition {
		return
	}
	for _, l := range ls.forPartitions(partitions) {
		l.cancel()
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, p := range partitions {
		delete(ls.byPartition, p)
		if ls.session.group != nil {
			ls.session.group.Pause(p, false)
		}
	}
}

// close waits until all added records are stored. No more records can be added.
func (ls *pipelines) close() error {
	ls.mu.Lock()
	for _, l := range ls.byPartition {
		l.accumulator.close()
	}
	ls.mu.Unlock()
	return ls.work.Wait()
}
