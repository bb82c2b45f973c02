package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/retry"
)

// Limits of workspaces that are set aside.
const (
	// defaultCascadeEdges is the maximum number of edges of a node that is deleted or restored
	// in one group with other commands, which takes some tenths of a second. If the node has
	// more, its workspace is set aside.
	defaultCascadeEdges = 10_000
	// maxAsideBytes is the maximum size of the records of a partition that are set aside. With
	// more, the partition waits.
	maxAsideBytes = 8 << 20
	// Failed groups are retried with delays between these.
	asideRetryMin, asideRetryMax = 500 * time.Millisecond, time.Minute
)

// asideWorkspace is a workspace that is set aside because one of its commands takes long. Its
// commands are decided in separate transactions, in parallel with the other workspaces of the
// partition.
type asideWorkspace struct {
	workspace uuid.UUID
	from      int64     // offset of the first record that is set aside
	queue     []*record // records that wait, by offset
	started   bool
}

// decideAside decides the queued records of a workspace until its queue is empty. It retries
// temporary failures. Other failures end it and fail the partition.
func (c *Consumer) decideAside(ctx context.Context, p *partition, w *asideWorkspace) {
	c.metrics.aside.Inc()
	defer c.metrics.aside.Dec()
	d := &decider{Consumer: c, partition: p, aside: w}
	pace := retry.New(asideRetryMin, asideRetryMax)
	for {
		records := p.queued(w)
		if len(records) == 0 {
			return
		}
		err := d.decideNextGroup(ctx, records)
		switch {
		case err == nil:
			pace.Reset()
			continue
		case ctx.Err() != nil:
			p.fail(err)
			return
		case consumers.IsRejoin(err):
			p.fail(err)
			c.loop.Abandon(err)
			return
		}
		c.loop.Metrics().Retries.Add(1)
		c.logger.Warn("commands that were set aside are tried again", "workspace", w.workspace, "error", err)
		if !pace.Wait(ctx) {
			p.fail(ctx.Err())
			return
		}
	}
}

// decideNextGroup decides the first group of the records.
func (d *decider) decideNextGroup(ctx context.Context, records []*record) error {
	select {
	case d.asideSlots <- struct{}{}:
		defer func() { <-d.asideSlots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.decide(ctx, d.firstGroup(records))
}

// finish waits until no workspace of the partitions is set aside.
func (h handler) finish(ctx context.Context, partitions []int32) error {
	for _, number := range partitions {
		p, err := h.partition(number)
		if err != nil {
			continue // not assigned to this process
		}
		if err := p.waitForAside(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}
