package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// sourceCheckInterval is the minimum time between two checks of the sources, after points were refused.
	sourceCheckInterval = 10 * time.Second
	visibleTimeout      = 8 * time.Second // for points to become visible
)

// publisher sends the rounds of the queue, one a request, and measures when they become visible.
type publisher struct {
	*session
	checkedAt time.Time         // of the sources; zero: never
	nodeOf    map[string]string // of the sources when they were checked
	refusal   string            // of the last points that were refused
}

// run sends until ctx ends. It fails only when the key may not write.
func (p *publisher) run(ctx context.Context) error {
	for {
		var round []client.Point
		select {
		case <-ctx.Done():
			return nil
		case round = <-p.queue:
		}
		checkpoint, err := p.send(ctx, round)
		switch {
		case ctx.Err() != nil:
			return nil
		case fault.Is(err, fault.Forbidden):
			return fmt.Errorf("the demo's key may not write to the workspace: %w", err)
		case err != nil:
			text := publicText(err)
			if text != p.refusal {
				p.note("points were refused: " + err.Error())
			}
			p.refusal = text
			p.update(func(st *status) {
				st.waiting -= int64(len(round))
				st.rejected += int64(len(round))
				st.trouble = text
			})
		case len(p.queue) == 0: // otherwise it catches up first
			p.awaitVisible(ctx, checkpoint)
		}
	}
}

// send sends a round and returns its checkpoint.
func (p *publisher) send(ctx context.Context, round []client.Point) (checkpoint string, err error) {
	if err := p.checkSources(ctx); err != nil {
		return "", err
	}
	receipt, err := p.client.IngestPoints(ctx, round)
	if err != nil {
		return "", err
	}
	p.update(func(st *status) {
		st.waiting -= int64(len(round))
		st.sent += int64(receipt.Accepted)
		st.rejected += int64(receipt.Rejected)
		st.ingest.add(receipt.Took)
	})
	if len(receipt.Errors) > 0 {
		p.refusal = receipt.Errors[0].Field + ": " + receipt.Errors[0].Reason
	}
	return receipt.Checkpoint, nil
}

// checkSources creates the sources that do not exist and links them to their nodes. It does so at the start, when the
// nodes change, and after points were refused: the likely cause is that a source was deleted.
func (p *publisher) checkSources(ctx context.Context) error {
	nodeOf := p.current().graph.nodeOf
	refused := p.refusal != "" && time.Since(p.checkedAt) > sourceCheckInterval
	if !p.checkedAt.IsZero() && !refused && maps.Equal(nodeOf, p.nodeOf) {
		return nil
	}
	sources := p.sampler.Sources()
	for _, s := range p.stations {
		sources = append(sources, s.Source)
	}
	for _, described := range sources {
		described.IntervalSeconds = cmp.Or(described.IntervalSeconds, p.options.Interval.Seconds())
		described.NodeID = nodeOf[described.Name]
		source, _, err := p.client.EnsureSource(ctx, described)
		if err != nil {
			return fmt.Errorf("source %s: %w", described.Name, err)
		}
		if source.NodeID == described.NodeID || described.NodeID == "" {
			continue
		}
		if err := p.client.LinkSource(ctx, source.ID, described.NodeID); err != nil && ctx.Err() == nil {
			p.note("graph: linking source " + described.Name + " to its node: " + err.Error()) // not in the way of points
		}
	}
	p.checkedAt, p.nodeOf, p.refusal = time.Now(), nodeOf, ""
	return nil
}

// awaitVisible measures the time until queries return the points of a checkpoint.
func (p *publisher) awaitVisible(ctx context.Context, checkpoint string) {
	began := time.Now()
	err := p.client.RetryUntil(visibleTimeout).WaitVisible(ctx, checkpoint)
	p.update(func(st *status) {
		if err != nil {
			st.trouble = "waiting until the points are visible: " + publicText(err)
			return
		}
		st.visible.add(time.Since(began))
		st.trouble = p.refusal
	})
}
