package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Limits of publishing. A portion is what one statement reads.
const (
	// pollInterval is the interval at which Postgres is polled for workspaces with unpublished
	// changes that this process has not decided.
	pollInterval = 5 * time.Second
	// roundInterval is the minimum interval between the starts of two rounds. Rounds share the
	// processors with the commands: under load, one round publishes the changes of many groups.
	roundInterval        = 10 * time.Millisecond
	maxPortionWorkspaces = 500      // maximum per portion
	maxPortionChanges    = 4000     // maximum per portion
	minWorkspaceChanges  = 8        // lowest limit per workspace in a portion
	portionBytes         = 16 << 20 // a portion ends with the change that reaches it
	unpublishedPageSize  = 10_000   // workspaces that one statement returns
	publishLongRetry     = time.Second
)

// errLong means that a change has so many further IDs that reading them takes long.
var errLong = errors.New("the change takes long to publish")

// Publisher publishes the journals of workspaces to topic graph.events, in the order of their
// sequences. It starts after the sequence in graph_published and updates that sequence when
// Kafka has acknowledged the changes. A change may be published twice, after a crash or while a
// partition moves to another process. No change is missing, and none is published before one
// that precedes it.
//
// One statement reads the changes of many workspaces, one batch sends them, and one statement
// stores the new sequences. A change with the IDs of very many edges, and the changes that
// follow it in its workspace, are published in parallel with the other workspaces.
type Publisher struct {
	db      *stores.DB
	log     *kafka.Client
	logger  *slog.Logger
	metrics *metrics
	wake    chan struct{}

	mu      sync.Mutex
	owned   map[int32]bool         // by partition
	pending map[uuid.UUID]struct{} // workspaces that have changes to publish
	pollDue bool                   // Postgres must be polled for further workspaces
	long    map[uuid.UUID]struct{} // workspaces that runLong publishes
	queue   []uuid.UUID            // of long, in order of publishing
	queued  chan struct{}          // receives a value when queue is not empty
}

func newPublisher(db *stores.DB, log *kafka.Client, logger *slog.Logger, m *metrics) *Publisher {
	return &Publisher{
		db: db, log: log, logger: logger, metrics: m, wake: make(chan struct{}, 1), queued: make(chan struct{}, 1),
		pending: map[uuid.UUID]struct{}{}, long: map[uuid.UUID]struct{}{},
	}
}

// setOwned sets the owned partitions.
func (p *Publisher) setOwned(partitions []int32) {
	owned := make(map[int32]bool, len(partitions))
	for _, number := range partitions {
		owned[number] = true
	}
	p.mu.Lock()
	p.owned, p.pollDue = owned, true
	p.mu.Unlock()
	p.notify()
}

// addPending adds workspaces that have changes to publish.
func (p *Publisher) addPending(workspaces []uuid.UUID) {
	if len(workspaces) == 0 {
		return
	}
	p.mu.Lock()
	for _, id := range workspaces {
		p.pending[id] = struct{}{}
	}
	p.mu.Unlock()
	p.notify()
}

// requestPoll makes the next round poll Postgres for workspaces with changes to publish.
func (p *Publisher) requestPoll() {
	p.mu.Lock()
	p.pollDue = true
	p.mu.Unlock()
	p.notify()
}

func (p *Publisher) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run publishes until ctx is done.
func (p *Publisher) Run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	pace := retry.New(50*time.Millisecond, 2*time.Second)
	outages := outage.Log{Failed: "changes cannot be published yet", Recovered: "changes are published again"}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.requestPoll()
		case <-p.wake:
		}
		began := time.Now()
		err := p.round(ctx)
		if ctx.Err() != nil {
			return
		}
		outages.Note(ctx, p.logger, err)
		if err == nil {
			pace.Reset()
			sleep.For(ctx, roundInterval-time.Since(began))
			continue
		}
		p.metrics.publishFails.Inc()
		if !pace.Wait(ctx) {
			return
		}
		p.notify()
	}
}

// Watch measures the age of the oldest unpublished change until ctx is done. It runs in parallel
// with Run, which may be waiting for Kafka. Each process measures all partitions, because a
// partition may have no owner.
func (p *Publisher) Watch(ctx context.Context) {
	for sleep.For(ctx, pollInterval) {
		age, err := p.db.OldestUnpublished(ctx)
		if err == nil { // without Postgres there are no new changes either
			p.metrics.oldestAge.Set(age.Seconds())
		}
	}
}

// round publishes all pending changes, portion by portion. A failure of one workspace does not
// delay the others.
func (p *Publisher) round(ctx context.Context) error {
	if err := p.pollUnpublished(ctx); err != nil {
		return err
	}
	failures := map[uuid.UUID]bool{}
	var failed error
	for {
		pending := slices.DeleteFunc(p.drainPending(), func(id uuid.UUID) bool { return failures[id] })
		p.metrics.unpublished.Set(float64(len(pending)))
		if len(pending) == 0 {
			p.addPending(slices.Collect(maps.Keys(failures)))
			return failed
		}
		for len(pending) > 0 {
			portion := pending[:min(len(pending), maxPortionWorkspaces)]
			failing, err := p.publish(ctx, portion)
			if err != nil && len(failing) == 0 {
				p.addPending(slices.AppendSeq(pending, maps.Keys(failures)))
				return err
			}
			for _, id := range failing {
				failures[id], failed = true, err
			}
			pending = pending[len(portion):]
		}
	}
}

// pollUnpublished polls Postgres for workspaces of owned partitions that have changes to
// publish, if a poll is due.
func (p *Publisher) pollUnpublished(ctx context.Context) error {
	p.mu.Lock()
	looking := p.pollDue
	p.pollDue = false
	p.mu.Unlock()
	for behind := uuid.Nil; looking; {
		found, err := p.db.UnpublishedWorkspaces(ctx, behind, unpublishedPageSize)
		if err != nil {
			p.mu.Lock()
			p.pollDue = true
			p.mu.Unlock()
			return err
		}
		p.addOwned(found)
		if looking = len(found) == unpublishedPageSize; looking {
			behind = found[len(found)-1]
		}
	}
	return nil
}

// addOwned adds the workspaces of owned partitions to the pending ones. The owners of the other
// partitions poll for the rest.
func (p *Publisher) addOwned(workspaces []uuid.UUID) {
	partitions := p.log.Topic(kafka.TopicCommands).Partitions
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range workspaces {
		if p.owned[partitionOf(id, partitions)] {
			p.pending[id] = struct{}{}
		}
	}
}

// drainPending removes all pending workspaces and returns those of owned partitions that runLong
// does not publish. The owners of the other partitions poll for the rest.
func (p *Publisher) drainPending() []uuid.UUID {
	partitions := p.log.Topic(kafka.TopicCommands).Partitions
	p.mu.Lock()
	defer p.mu.Unlock()
	var owned []uuid.UUID
	for id := range p.pending {
		if _, long := p.long[id]; !long && p.owned[partitionOf(id, partitions)] {
			owned = append(owned, id)
		}
	}
	clear(p.pending)
	return owned
}

// publish publishes a portion of the changes of the workspaces. If the error concerns single
// workspaces, publish returns these, and the changes of the others are published.
func (p *Publisher) publish(ctx context.Context, workspaces []uuid.UUID) (failing []uuid.UUID, err error) {
	began := time.Now()
	limit := max(maxPortionChanges/len(workspaces), minWorkspaceChanges)
	found, cut, err := p.db.UnpublishedChanges(ctx, workspaces, limit, portionBytes)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	o := &eventWriter{Publisher: p, lastSequence: map[uuid.UUID]int64{}}
	var failed error
	for _, w := range found {
		switch err := o.add(ctx, w, o.refuseCascade); {
		case err == nil:
		case errors.Is(err, errLong):
			p.setAside(w.Workspace)
		case o.sendErr != nil:
			return nil, err
		default:
			failing, failed = append(failing, w.Workspace), fmt.Errorf("workspace %s: %w", w.Workspace, err)
		}
	}
	if err := o.finish(ctx); err != nil {
		return nil, err
	}
	p.metrics.publishTime.Observe(time.Since(began).Seconds())
	p.requeue(workspaces, found, limit, cut)
	return failing, failed
}

// requeue adds the workspaces of a portion that may have more changes to the pending ones.
func (p *Publisher) requeue(workspaces []uuid.UUID, found []graphstore.WorkspaceChanges, limit int, cut bool) {
	if cut {
		p.addPending(workspaces)
		return
	}
	for _, w := range found {
		if len(w.Changes) == limit {
			p.addPending([]uuid.UUID{w.Workspace})
		}
	}
}
