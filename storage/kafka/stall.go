package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// defaultStallLimit is how long polls wait, while the log has records of a partition, until its
	// client is considered stalled.
	defaultStallLimit = 20 * time.Second
	// stallChecks is the number of checks in this time.
	stallChecks = 4
	// probeTimeout bounds the read that confirms a stall.
	probeTimeout = 5 * time.Second
)

// ErrStalled is returned if a client has stopped fetching a partition that has records. The client
// must be replaced.
var ErrStalled = errors.New("kafka: the client has stopped fetching")

// stallWatch finds partitions that a client has stopped fetching. franz-go can lose the start of its
// fetch loop when it restarts it twice in quick succession, as it does in a rebalance: the client then
// waits permanently, without an error. See docs/adr/0069-readers-that-stop-fetching-are-replaced.md.
type stallWatch struct {
	parent *Client
	topic  string // full name

	mu      sync.Mutex
	next    map[int32]int64 // next offset to poll, of the partitions that are read
	paused  map[int32]bool
	waited  time.Duration           // total time that polls have waited
	checked time.Duration           // waited at the last check
	since   map[int32]time.Duration // waited when a partition was first seen to have unpolled records
}

func (c *Client) newStallWatch(topic string) *stallWatch {
	return &stallWatch{
		parent: c, topic: topic, next: map[int32]int64{}, paused: map[int32]bool{}, since: map[int32]time.Duration{},
	}
}

// interval returns the waiting time between two checks.
func (w *stallWatch) interval() time.Duration { return w.parent.opts.StallLimit / stallChecks }

// set sets the next offset of a partition that is read from now on.
func (w *stallWatch) set(partition int32, next int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next[partition] = max(next, 0)
	delete(w.since, partition)
}

// remove removes partitions that are no longer read.
func (w *stallWatch) remove(partitions ...int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range partitions {
		delete(w.next, p)
		delete(w.paused, p)
		delete(w.since, p)
	}
}

// pause excludes a partition that is not fetched on purpose, or includes it again.
func (w *stallWatch) pause(partition int32, pause bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, partition)
	if pause {
		w.paused[partition] = true
		return
	}
	delete(w.paused, partition)
}

// offsets returns the next offsets of all partitions.
func (w *stallWatch) offsets() map[int32]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.next)
}

// poll polls a client until ctx is done, or for the time between two checks. It returns ErrStalled,
// maybe with records, if the client has stopped fetching. Other errors are those of fetchFailure, confirmed.
func (w *stallWatch) poll(ctx context.Context, client *kgo.Client, maxRecords int) (kgo.Fetches, error) {
	pollCtx, cancel := context.WithTimeout(ctx, w.interval())
	defer cancel()
	began := time.Now()
	fetches := client.PollRecords(pollCtx, maxRecords)
	due := w.observe(fetches, time.Since(began))
	if err := fetchFailure(fetches); err != nil || !due || errors.Is(ctx.Err(), context.Canceled) {
		return fetches, w.parent.confirmed(ctx, w.topic, err)
	}
	// The deadline of a caller that polls for short times must not prevent the check.
	checkCtx, cancelCheck := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout)
	defer cancelCheck()
	bounds, err := w.parent.bounds(checkCtx, w.topic)
	if err != nil {
		w.reset() // the brokers do not answer
		return fetches, nil
	}
	return fetches, w.check(context.WithoutCancel(ctx), bounds)
}

// observe records the result of a poll, and reports whether a check is due.
func (w *stallWatch) observe(fetches kgo.Fetches, took time.Duration) (due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited += took
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if n := len(p.Records); n > 0 {
			if _, reading := w.next[p.Partition]; reading {
				w.next[p.Partition] = p.Records[n-1].Offset + 1
			}
			delete(w.since, p.Partition)
		}
	})
	if w.waited-w.checked < w.interval() {
		return false
	}
	w.checked = w.waited
	return true
}

// reset forgets since when records have been available.
func (w *stallWatch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.since)
}

// check returns ErrStalled if polls have waited for the limit although a partition has records within
// the bounds of the log, and another client can read them.
func (w *stallWatch) check(ctx context.Context, bounds map[int32]Span) error {
	partition, from, found := w.overdue(bounds)
	if !found {
		return nil
	}
	if !w.parent.holdsRecords(ctx, w.topic, partition, from) {
		w.set(partition, from)
		return nil
	}
	w.parent.metrics.stalled.WithLabelValues(w.parent.Label(w.topic)).Inc()
	return fmt.Errorf("%w: %s, partition %d from offset %d on", ErrStalled, w.topic, partition, from)
}

// overdue returns a partition whose records have been available for the limit, and the offset of the
// first one. It returns only one, because a member of a group that does not poll blocks rebalances.
func (w *stallWatch) overdue(bounds map[int32]Span) (partition int32, from int64, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, next := range w.next {
		log, exists := bounds[p]
		first := max(next, log.From)
		if !exists || w.paused[p] || first >= log.To {
			delete(w.since, p)
			continue
		}
		since, seen := w.since[p]
		switch {
		case !seen:
			w.since[p] = w.waited
		case w.waited-since >= w.parent.opts.StallLimit:
			partition, from, found = p, first, true
		}
	}
	return partition, from, found
}

// holdsRecords reports whether a new client can read a record of a partition from an offset on.
func (c *Client) holdsRecords(ctx context.Context, topic string, partition int32, from int64) bool {
	client, err := kgo.NewClient(append(c.opts.common("livegraph-probe", dialTimeout),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(minPartitionFetch),
	)...)
	if err != nil {
		return false
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return client.PollRecords(ctx, 1).NumRecords() > 0
}

// drop logs that a client was replaced, and closes it in the background, because a stalled client may
// not end.
func (c *Client) drop(client *kgo.Client, err error) {
	c.log.Warn("the client of a reader is replaced", "error", err)
	go client.CloseAllowingRebalance()
}
