package commands

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/pause"
	"github.com/livegraph/livegraph/schemas/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Bounds of publishing.
const (
	// lookEvery is how often it is looked for workspaces that have changes which are
	// not published, beside those that this process has decided.
	lookEvery      = 5 * time.Second
	publishChanges = 1000     // most changes of a portion
	publishBytes   = 16 << 20 // a portion ends with the change that brings it over
	unpublishedMax = 10_000   // workspaces that are found by one look
)

// Publisher puts the journals of workspaces on topic graph.events, in the order of
// their sequences: those after the one that graph_published says is, and moves that
// on when Kafka has acknowledged. A change may be there twice, after a crash or
// while a partition moves to another process; none is missing, and none comes before
// one that precedes it.
type Publisher struct {
	db      *postgres.DB
	log     *kafka.Client
	logger  *slog.Logger
	metrics *metrics
	wake    chan struct{}

	mu      sync.Mutex
	owned   map[int32]bool         // our partitions
	pending map[uuid.UUID]struct{} // workspaces that have changes to publish
	looking bool                   // others may be there that we do not know of
}

func newPublisher(db *postgres.DB, log *kafka.Client, logger *slog.Logger, m *metrics) *Publisher {
	return &Publisher{db: db, log: log, logger: logger, metrics: m, wake: make(chan struct{}, 1), pending: map[uuid.UUID]struct{}{}}
}

// own says which partitions are ours.
func (p *Publisher) own(partitions []int32) {
	owned := make(map[int32]bool, len(partitions))
	for _, number := range partitions {
		owned[number] = true
	}
	p.mu.Lock()
	p.owned, p.looking = owned, true
	p.mu.Unlock()
	p.poke()
}

// changed says that workspaces have changes to publish.
func (p *Publisher) changed(workspaces []uuid.UUID) {
	if len(workspaces) == 0 {
		return
	}
	p.mu.Lock()
	for _, id := range workspaces {
		p.pending[id] = struct{}{}
	}
	p.mu.Unlock()
	p.poke()
}

// look has it looked for workspaces with changes to publish.
func (p *Publisher) look() {
	p.mu.Lock()
	p.looking = true
	p.mu.Unlock()
	p.poke()
}

func (p *Publisher) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run publishes until ctx is done.
func (p *Publisher) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval, pace.Multiplier = 50*time.Millisecond, 2*time.Second, 2
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
		if !pause.For(ctx, pace.NextBackOff()) {
			return
		}
		p.poke()
	}
}

// Watch measures how old the oldest change is that is not published, until ctx is
// done: beside Run, which may be waiting for Kafka. Whoever owns its partition, each
// process tells: perhaps nobody does.
func (p *Publisher) Watch(ctx context.Context) {
	for pause.For(ctx, lookEvery) {
		age, err := p.db.OldestUnpublished(ctx)
		if err == nil { // without Postgres nothing new waits either
			p.metrics.oldest.Set(age.Seconds())
		}
	}
}

// round publishes everything that is there, a portion of each workspace in turn.
func (p *Publisher) round(ctx context.Context) error {
	if err := p.find(ctx); err != nil {
		return err
	}
	for {
		pending := p.take()
		p.metrics.unpublished.Set(float64(len(pending)))
		if len(pending) == 0 {
			return nil
		}
		for i, id := range pending {
			more, err := p.publish(ctx, id)
			if err != nil {
				p.changed(pending[i:])
				return err
			}
			if more {
				p.changed([]uuid.UUID{id})
			}
		}
	}
}

// find looks for workspaces of ours that have changes to publish, if there may be
// such.
func (p *Publisher) find(ctx context.Context) error {
	p.mu.Lock()
	looking := p.looking
	p.mu.Unlock()
	if !looking {
		return nil
	}
	found, err := p.db.UnpublishedWorkspaces(ctx, unpublishedMax)
	if err != nil {
		return err
	}
	p.changed(found)
	p.mu.Lock()
	p.looking = false
	p.mu.Unlock()
	return nil
}

// take gives the workspaces of ours that have changes to publish. Others are
// forgotten: who owns them looks for them.
func (p *Publisher) take() []uuid.UUID {
	partitions := p.log.Topic(kafka.TopicCommands).Partitions
	p.mu.Lock()
	defer p.mu.Unlock()
	var ours []uuid.UUID
	for id := range p.pending {
		if p.owned[partitionOf(id, partitions)] {
			ours = append(ours, id)
		}
	}
	clear(p.pending)
	return ours
}

// publish publishes a portion of a workspace's changes, and says whether there may be
// more.
func (p *Publisher) publish(ctx context.Context, workspace uuid.UUID) (more bool, err error) {
	began := time.Now()
	changes, err := p.db.UnpublishedChanges(ctx, workspace, publishChanges, publishBytes)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	if err := p.put(ctx, workspace, changes); err != nil {
		return false, err
	}
	if err := p.db.Published(ctx, workspace, changes[len(changes)-1].Sequence); err != nil {
		return false, err
	}
	p.metrics.published.Add(float64(len(changes)))
	p.metrics.publishTime.Observe(time.Since(began).Seconds())
	return true, nil
}

// put puts changes on the topic, in records that are together publishBytes at a time:
// the ids of a cascade may be many more than the change in the journal is large.
func (p *Publisher) put(ctx context.Context, workspace uuid.UUID, changes []postgres.GraphChange) error {
	var records []kafka.Record
	size := 0
	flush := func() error {
		err := p.log.ProduceEvents(ctx, records)
		records, size = nil, 0
		return err
	}
	further := func(sequence int64, node uuid.UUID, from, to int64) ([]uuid.UUID, error) {
		return p.db.CascadeEdges(ctx, workspace, sequence, node, from, to)
	}
	for _, c := range changes {
		err := graphrecord.EncodeEvents(workspace, c.Encoded, further, func(part []byte, requestID string) error {
			records = append(records, kafka.Record{Workspace: workspace, Value: part, RequestID: requestID})
			if size += len(part); size < publishBytes {
				return nil
			}
			return flush()
		})
		if err != nil {
			return err
		}
	}
	return flush()
}
