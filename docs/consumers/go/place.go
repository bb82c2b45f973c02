package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// place is where a member of the group is: what it was assigned, and the next offset
// of each partition. The client's goroutines change it at a rebalance.
type place struct {
	options
	admin *kadm.Client

	mu    sync.Mutex
	begun map[int32]bool  // partitions whose start the command line has had a say in
	next  map[int32]int64 // of what is assigned
	ends  map[int32]int64 // up to where is read; nil: forever
}

// start decides where newly assigned partitions begin: where the group was, unless the
// command line says otherwise, which it does once a partition and not at each
// rebalance.
func (p *place) start(
	ctx context.Context, offsets map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	first, err := listed(p.admin.ListStartOffsets(ctx, p.topic))
	if err != nil {
		return nil, err
	}
	since := first
	if !p.fromTime.IsZero() {
		if since, err = listed(p.admin.ListOffsetsAfterMilli(ctx, p.fromTime.UnixMilli(), p.topic)); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition, offset := range offsets[p.topic] {
		at := offset.EpochOffset().Offset // what the group has committed; negative: nothing
		again := !p.begun[partition]
		switch {
		case again && p.fromOffset >= 0:
			at = max(p.fromOffset, first[partition])
		case again && !p.fromTime.IsZero():
			at = since[partition]
		case at < 0:
			at = first[partition] // a new group misses nothing
		}
		p.begun[partition], p.next[partition] = true, at
		offsets[p.topic][partition] = kgo.NewOffset().At(at)
	}
	return offsets, nil
}

// gone notes that partitions are another member's.
func (p *place) gone(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, partition := range partitions[p.topic] {
		delete(p.next, partition)
	}
}

// done notes that a record is done.
func (p *place) done(r *kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[r.Partition] = r.Offset + 1
}

// untilNow has the member stop where the partitions end now.
func (p *place) untilNow(ctx context.Context) (err error) {
	p.ends, err = listed(p.admin.ListEndOffsets(ctx, p.topic))
	return err
}

// reached reports whether all that is assigned is read up to the ends.
func (p *place) reached() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends == nil || len(p.next) == 0 {
		return false
	}
	for partition, at := range p.next {
		if at < p.ends[partition] {
			return false
		}
	}
	return true
}

func listed(offsets kadm.ListedOffsets, err error) (map[int32]int64, error) {
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
