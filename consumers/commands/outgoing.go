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

// outgoing are records on their way to topic graph.events, publishBytes at a time: the
// ids of a cascade may be many more than the change in the journal is large.
type outgoing struct {
	*Publisher
	records []kafka.Record
	size    int
	upTo    map[uuid.UUID]int64 // what is published when the records are sent
	count   int                 // changes of these
	lost    error               // why records cannot be sent
}

// furtherEdges reads the ids of a cascade that its change does not list.
type furtherEdges func(
	ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error)

// notLong leaves a change with such ids to publishLong.
func (*outgoing) notLong(context.Context, uuid.UUID, int64, uuid.UUID, int64, int64) ([]uuid.UUID, error) {
	return nil, errLong
}

func (o *outgoing) read(
	ctx context.Context, workspace uuid.UUID, sequence int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error) {
	return o.db.CascadeEdges(ctx, workspace, sequence, node, from, to)
}

// add adds the changes of a workspace. After an error those before the change that it is
// about are added.
func (o *outgoing) add(ctx context.Context, w graphstore.WorkspaceChanges, further furtherEdges) error {
	for _, c := range w.Changes {
		before, size := len(o.records), o.size
		err := graphrecord.EncodeEvents(w.Workspace, c.Encoded, func(
			sequence int64, node uuid.UUID, from, to int64,
		) ([]uuid.UUID, error) {
			return further(ctx, w.Workspace, sequence, node, from, to)
		}, func(part []byte, requestID string) error {
			o.records = append(o.records, kafka.Record{Workspace: w.Workspace, Value: part, RequestID: requestID})
			if o.size += len(part); o.size < publishBytes {
				return nil
			}
			before, size = 0, 0
			return o.send(ctx)
		})
		if err != nil {
			if o.lost == nil { // what is sent of the change comes again
				o.records, o.size = o.records[:min(before, len(o.records))], min(size, o.size)
			}
			return err
		}
		o.upTo[w.Workspace] = c.Sequence
		o.count++
	}
	return nil
}

// send sends the records.
func (o *outgoing) send(ctx context.Context) error {
	o.lost = o.log.ProduceEvents(ctx, o.records)
	o.records, o.size = nil, 0
	return o.lost
}

// finish sends what is left, and notes what is published.
func (o *outgoing) finish(ctx context.Context) error {
	if err := o.send(ctx); err != nil || len(o.upTo) == 0 {
		return err
	}
	if err := o.db.Published(ctx, o.upTo); err != nil {
		return err
	}
	o.metrics.published.Add(float64(o.count))
	return nil
}

// setAside leaves a workspace to publishLong.
func (p *Publisher) setAside(workspace uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.long[workspace] = struct{}{}
	p.queue = append(p.queue, workspace)
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// runLong publishes workspaces that were set aside, until ctx is done.
func (p *Publisher) runLong(ctx context.Context) {
	for {
		workspace, ok := p.nextLong()
		if !ok {
			select {
			case <-p.more:
				continue
			case <-ctx.Done():
				return
			}
		}
		if err := p.publishLong(ctx, workspace); err != nil && ctx.Err() == nil {
			p.metrics.publishFails.Inc()
			p.logger.Warn("a large change cannot be published yet", "workspace", workspace, "error", err)
			sleep.For(ctx, publishLongPause)
		}
		p.mu.Lock()
		delete(p.long, workspace)
		p.mu.Unlock()
		p.changed([]uuid.UUID{workspace}) // the others' way goes on with what is left
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

// publishLong publishes the next change of a workspace, however long that takes.
func (p *Publisher) publishLong(ctx context.Context, workspace uuid.UUID) error {
	began := time.Now()
	found, _, err := p.db.UnpublishedChanges(ctx, []uuid.UUID{workspace}, 1, publishBytes)
	if err != nil || len(found) == 0 {
		return err
	}
	o := &outgoing{Publisher: p, upTo: map[uuid.UUID]int64{}}
	if err := o.add(ctx, found[0], o.read); err != nil {
		return err
	}
	if err := o.finish(ctx); err != nil {
		return err
	}
	p.metrics.publishTime.Observe(time.Since(began).Seconds())
	return nil
}
