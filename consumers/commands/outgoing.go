package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// eventWriter sends records to topic graph.events, portionBytes at a time, because a change
// with the IDs of its cascade may be much larger than its entry in the journal.
type eventWriter struct {
	*Publisher
	records      []kafka.Record
	size         int
	lastSequence map[uuid.UUID]int64 // last change of each workspace whose records were added
	changes      int                 // number of these changes
	sendErr      error               // result of the last send
}

// cascadeReader reads IDs of a cascade that its change does not list.
type cascadeReader func(
	ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error)

// refuseCascade is a cascadeReader that returns errLong, which leaves the change to publishLong.
func (*eventWriter) refuseCascade(context.Context, uuid.UUID, int64, uuid.UUID, int64, int64) ([]uuid.UUID, error) {
	return nil, errLong
}

func (o *eventWriter) readCascade(
	ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error) {
	return o.db.CascadeEdges(ctx, workspace, sequence, node, from, to)
}

// add adds the changes of a workspace. If a change fails, those before it remain added.
func (o *eventWriter) add(ctx context.Context, w graphstore.WorkspaceChanges, readEdges cascadeReader) error {
	for _, c := range w.Changes {
		before, size := len(o.records), o.size
		err := graphrecord.EncodeEvents(w.Workspace, c.Encoded, func(
			sequence int64, node uuid.UUID, from, to int64,
		) ([]uuid.UUID, error) {
			return readEdges(ctx, w.Workspace, sequence, node, from, to)
		}, func(part []byte, requestID string) error {
			o.records = append(o.records, kafka.Record{Workspace: w.Workspace, Value: part, RequestID: requestID})
			if o.size += len(part); o.size < portionBytes {
				return nil
			}
			before, size = 0, 0
			return o.send(ctx)
		})
		if err != nil {
			if o.sendErr == nil { // parts of the change that are already sent will be sent again
				o.records, o.size = o.records[:min(before, len(o.records))], min(size, o.size)
			}
			return err
		}
		o.lastSequence[w.Workspace] = c.Sequence
		o.changes++
	}
	return nil
}

// send sends the buffered records.
func (o *eventWriter) send(ctx context.Context) error {
	o.sendErr = o.log.ProduceEvents(ctx, o.records)
	o.records, o.size = nil, 0
	return o.sendErr
}

// finish sends the remaining records and stores which changes are published.
func (o *eventWriter) finish(ctx context.Context) error {
	if err := o.send(ctx); err != nil || len(o.lastSequence) == 0 {
		return err
	}
	if err := o.db.Published(ctx, o.lastSequence); err != nil {
		return err
	}
	o.metrics.published.Add(float64(o.changes))
	return nil
}

// setAside queues a workspace for publishLong.
func (p *Publisher) setAside(workspace uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.long[workspace] = struct{}{}
	p.queue = append(p.queue, workspace)
	select {
	case p.queued <- struct{}{}:
	default:
	}
}

// runLong publishes the workspaces that are set aside until ctx is done.
func (p *Publisher) runLong(ctx context.Context) {
	for {
		workspace, ok := p.nextLong()
		if !ok {
			select {
			case <-p.queued:
				continue
			case <-ctx.Done():
				return
			}
		}
		if err := p.publishLong(ctx, workspace); err != nil && ctx.Err() == nil {
			p.metrics.publishFails.Inc()
			p.logger.Warn("a large change cannot be published yet", "workspace", workspace, "error", err)
			sleep.For(ctx, publishLongRetry)
		}
		p.mu.Lock()
		delete(p.long, workspace)
		p.mu.Unlock()
		p.addPending([]uuid.UUID{workspace}) // Run publishes its further changes
	}
}

func (p *Publisher) nextLong() (workspace uuid.UUID, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return uuid.Nil, false
	}
	workspace, p.queue = p.queue[0], p.queue[1:]
	return workspace, true
}

// publishLong publishes the next change of a workspace without a limit on its size.
func (p *Publisher) publishLong(ctx context.Context, workspace uuid.UUID) error {
	began := time.Now()
	found, _, err := p.db.UnpublishedChanges(ctx, []uuid.UUID{workspace}, 1, portionBytes)
	if err != nil || len(found) == 0 {
		return err
	}
	o := &eventWriter{Publisher: p, lastSequence: map[uuid.UUID]int64{}}
	if err := o.add(ctx, found[0], o.readCascade); err != nil {
		return err
	}
	if err := o.finish(ctx); err != nil {
		return err
	}
	p.metrics.publishTime.Observe(time.Since(began).Seconds())
	return nil
}
