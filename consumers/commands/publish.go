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

	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// Bounds of publishing.
const (
	// lookEvery is how often it is looked for workspaces that have changes which are
	// not published, beside those that this process has decided.
	lookEvery         = 5 * time.Second
	publishWorkspaces = 500      // most workspaces of a portion
	publishChanges    = 4000     // most changes of a portion
	publishAtLeast    = 8        // changes of each workspace, if there are as many
	publishBytes      = 16 << 20 // a portion ends with the change that brings it over
	unpublishedPage   = 10_000   // workspaces that are found by one statement
	publishLongPause  = time.Second
)

// errLong says that a change has many ids beside it, which it takes long to read.
var errLong = errors.New("the change takes long to publish")

// Publisher puts the journals of workspaces on topic graph.events, in the order of
// their sequences: those after the one that graph_published says is, and moves that
// on when Kafka has acknowledged. A change may be there twice, after a crash or
// while a partition moves to another process; none is missing, and none comes before
// one that precedes it.
//
// What is there of many workspaces is read by one statement, sent by one batch and noted
// by another statement. A change with the ids of very many edges is published beside the
// others, with what follows it in its workspace.
type Publisher struct {
	db      *stores.DB
	log     *kafka.Client
	logger  *slog.Logger
	metrics *metrics
	wake    chan struct{}

	mu      sync.Mutex
	owned   map[int32]bool         // our partitions
	pending map[uuid.UUID]struct{} // workspaces that have changes to publish
	looking bool                   // others may be there that we do not know of
	long    map[uuid.UUID]struct{} // workspaces that are published by themselves
	queue   []uuid.UUID            // of long, that wait for their turn
	more    chan struct{}          // queue is not empty
}

func newPublisher(db *stores.DB, log *kafka.Client, logger *slog.Logger, m *metrics) *Publisher {
	return &Publisher{
		db: db, log: log, logger: logger, metrics: m, wake: make(chan struct{}, 1), more: make(chan struct{}, 1),
		pending: map[uuid.UUID]struct{}{}, long: map[uuid.UUID]struct{}{},
	}
}

// own reports which partitions are ours.
func (p *Publisher) own(partitions []int32) {
	owned := make(map[int32]bool, len(partitions))
	for _, number := range partitions {
		owned[number] = true
	}
	p.mu.Lock()
	p.owned, p.looking = owned, true
	p.mu.Unlock()
	p.notify()
}

// changed reports that workspaces have changes to publish.
func (p *Publisher) changed(workspaces []uuid.UUID) {
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

// look has it looked for workspaces with changes to publish.
func (p *Publisher) look() {
	p.mu.Lock()
	p.looking = true
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
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	pace := retry.New(50*time.Millisecond, 2*time.Second)
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.look()
		case <-p.wake:
		}
		err := p.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != failing {
			if failing = err != nil; failing {
				p.logger.Warn("changes cannot be published yet", "error", err)
			} else {
				p.logger.Info("changes are published again")
			}
		}
		if err == nil {
			pace.Reset()
			continue
		}
		p.metrics.publishFails.Inc()
		if !pace.Wait(ctx) {
			return
		}
		p.notify()
	}
}

// Watch measures how old the oldest change is that is not published, until ctx is
// done: beside Run, which may be waiting for Kafka. Anyone who owns its partition, each
// process tells: perhaps nobody does.
func (p *Publisher) Watch(ctx context.Context) {
	for sleep.For(ctx, lookEvery) {
		age, err := p.db.OldestUnpublished(ctx)
		if err == nil { // without Postgres nothing new waits either
			p.metrics.oldest.Set(age.Seconds())
		}
	}
}

// round publishes everything that is there, a portion of each workspace in turn. What
// fails of one workspace holds up no other.
func (p *Publisher) round(ctx context.Context) error {
	if err := p.find(ctx); err != nil {
		return err
	}
	failures := map[uuid.UUID]bool{}
	var failed error
	for {
		pending := slices.DeleteFunc(p.take(), func(id uuid.UUID) bool { return failures[id] })
		p.metrics.unpublished.Set(float64(len(pending)))
		if len(pending) == 0 {
			p.changed(slices.Collect(maps.Keys(failures)))
			return failed
		}
		for len(pending) > 0 {
			portion := pending[:min(len(pending), publishWorkspaces)]
			failing, err := p.publish(ctx, portion)
			if err != nil && len(failing) == 0 {
				p.changed(slices.AppendSeq(pending, maps.Keys(failures)))
				return err
			}
			for _, id := range failing {
				failures[id], failed = true, err
			}
			pending = pending[len(portion):]
		}
	}
}

// find looks for workspaces of ours that have changes to publish, if there may be
// such.
func (p *Publisher) find(ctx context.Context) error {
	p.mu.Lock()
	looking := p.looking
	p.looking = false
	p.mu.Unlock()
	for behind := uuid.Nil; looking; {
		found, err := p.db.UnpublishedWorkspaces(ctx, behind, unpublishedPage)
		if err != nil {
			p.mu.Lock()
			p.looking = true
			p.mu.Unlock()
			return err
		}
		p.note(found)
		if looking = len(found) == unpublishedPage; looking {
			behind = found[len(found)-1]
		}
	}
	return nil
}

// note keeps those workspaces that are ours. Who owns the others looks for them.
func (p *Publisher) note(workspaces []uuid.UUID) {
	partitions := p.log.Topic(kafka.TopicCommands).Partitions
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range workspaces {
		if p.owned[partitionOf(id, partitions)] {
			p.pending[id] = struct{}{}
		}
	}
}

// take returns the workspaces of ours that have changes to publish. Others are
// forgotten: who owns them looks for them.
func (p *Publisher) take() []uuid.UUID {
	partitions := p.log.Topic(kafka.TopicCommands).Partitions
	p.mu.Lock()
	defer p.mu.Unlock()
	var ours []uuid.UUID
	for id := range p.pending {
		if _, long := p.long[id]; !long && p.owned[partitionOf(id, partitions)] {
			ours = append(ours, id)
		}
	}
	clear(p.pending)
	return ours
}

// publish publishes a portion of the changes of some workspaces. An error that is one
// workspace's comes with it; the others' changes are published then.
func (p *Publisher) publish(ctx context.Context, workspaces []uuid.UUID) (failing []uuid.UUID, err error) {
	began := time.Now()
	limit := max(publishChanges/len(workspaces), publishAtLeast)
	found, cut, err := p.db.UnpublishedChanges(ctx, workspaces, limit, publishBytes)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	o := &outgoing{Publisher: p, upTo: map[uuid.UUID]int64{}}
	var failed error
	for _, w := range found {
		switch err := o.add(ctx, w, o.notLong); {
		case err == nil:
		case errors.Is(err, errLong):
			p.setAside(w.Workspace)
		case o.lost != nil:
			return nil, err
		default:
			failing, failed = append(failing, w.Workspace), fmt.Errorf("workspace %s: %w", w.Workspace, err)
		}
	}
	if err := o.finish(ctx); err != nil {
		return nil, err
	}
	p.metrics.publishTime.Observe(time.Since(began).Seconds())
	p.again(workspaces, found, limit, cut)
	return failing, failed
}

// again notes the workspaces of a portion that may have more changes.
func (p *Publisher) again(workspaces []uuid.UUID, found []graphstore.WorkspaceChanges, limit int, cut bool) {
	if cut {
		p.changed(workspaces)
		return
	}
	for _, w := range found {
		if len(w.Changes) == limit {
			p.changed([]uuid.UUID{w.Workspace})
		}
	}
}
