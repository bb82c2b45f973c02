package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// positions has the assigned partitions of a group member and their next offsets. The client's
// goroutines change it during a rebalance.
type positions struct {
	options
	admin *kadm.Client

	mu      sync.Mutex
	started map[int32]bool  // partitions for which the options were applied
	next    map[int32]int64 // by assigned partition
	ends    map[int32]int64 // offsets at which to stop; nil: never
}

// start sets the start offsets of newly assigned partitions: the committed offset of the group,
// or the one of the command line, which is applied only once per partition and not at each
// rebalance.
func (p *positions) start(
	ctx context.Context, offsets map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	first, err := offsetsOf(p.admin.ListStartOffsets(ctx, p.topic))
	if err != nil {
		return nil, err
	}
	since := first
	if !p.fromTime.IsZero() {
		if since, err = offsetsOf(p.admin.ListOffsetsAfterMilli(ctx, p.fromTime.UnixMilli(), p.topic)); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, offset := range offsets[p.topic] {
		start := offset.EpochOffset().Offset // committed by the group; negative: none
		unstarted := !p.started[partition]
		switch {
		case unstarted && p.fromOffset >= 0:
			start = max(p.fromOffset, first[partition])
		case unstarted && !p.fromTime.IsZero():
			start = since[partition]
		case start < 0:
			start = first[partition] // a new group reads the whole log
		}
		p.started[partition], p.next[partition] = true, start
		offsets[p.topic][partition] = kgo.NewOffset().At(start)
	}
	return offsets, nil
}

// revoked removes partitions that are no longer assigned.
func (p *positions) revoked(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, partition := range partitions[p.topic] {
		delete(p.next, partition)
	}
}

// done advances the position past a record.
func (p *positions) done(r *kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[r.Partition] = r.Offset + 1
}

// stopAtCurrentEnds sets the current ends of the partitions as the offsets at which to stop.
func (p *positions) stopAtCurrentEnds(ctx context.Context) (err error) {
	p.ends, err = offsetsOf(p.admin.ListEndOffsets(ctx, p.topic))
	return err
}

// atEnds reports whether all assigned partitions are read up to the ends.
func (p *positions) atEnds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends == nil || len(p.next) == 0 {
		return false
	}
	for partition, next := range p.next {
		if next < p.ends[partition] {
			return false
		}
	}
	return true
}

func offsetsOf(offsets kadm.ListedOffsets, err error) (map[int32]int64, error) {
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("reading offsets: %w", err)
	}
	found := map[int32]int64{}
	offsets.Each(func(o kadm.ListedOffset) { found[o.Partition] = o.Offset })
	return found, nil
}
