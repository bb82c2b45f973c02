package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/retry"
)

// Bounds of what is set aside.
const (
	// cascadeEdges is how many edges a node may have that is deleted or brought back among
	// other commands: some tenths of a second. Beyond, its workspace is set aside.
	cascadeEdges = 10_000
	// asideBytes is how many bytes of records of a partition are set aside; with more, the
	// partition waits.
	asideBytes = 8 << 20
	// What fails is tried again after these times.
	asideFirst, asideMost = 500 * time.Millisecond, time.Minute
)

// aside is a workspace whose commands are decided by themselves, in transactions of their
// own, beside the rest of their partition: one of them takes long.
type aside struct {
	workspace uuid.UUID
	from      int64     // the offset of the first record that is set aside
	queue     []*record // that wait, in their order
	begun     bool
}

// decideAside decides what is set aside of a workspace, until nothing is. It tries again
// what may pass; what else is in the way ends it, and the partition with it.
func (c *Consumer) decideAside(ctx context.Context, p *partition, w *aside) {
	c.metrics.aside.Inc()
	defer c.metrics.aside.Dec()
	d := &decider{Consumer: c, partition: p, aside: w}
	pace := retry.New(asideFirst, asideMost)
	for {
		records := p.waiting(w)
		if len(records) == 0 {
			return
		}
		err := d.decideSome(ctx, records)
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

// decideSome decides the first group of records that are set aside.
func (d *decider) decideSome(ctx context.Context, records []*record) error {
	select {
	case d.long <- struct{}{}:
		defer func() { <-d.long }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.decide(ctx, d.firstGroup(records))
}

// Finish waits until nothing of some partitions is set aside.
func (h handler) Finish(ctx context.Context, partitions []int32) error {
	for _, number := range partitions {
		p, err := h.partition(number)
		if err != nil {
			continue // not ours
		}
		if err := p.await(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}
