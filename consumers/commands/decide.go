package commands

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/redis"
)

// maxTimeouts is the number of database timeouts after which a record is treated as one that
// can never be decided.
const maxTimeouts = 3

// recordError is an error that one record causes.
type recordError struct {
	record *record
	cause  error
}

func (e *recordError) Error() string { return e.cause.Error() }
func (e *recordError) Unwrap() error { return e.cause }

// decider decides records of a partition: either those of one workspace that is set aside, or
// those of all workspaces that are not.
type decider struct {
	*Consumer
	partition *partition
	aside     *asideWorkspace // nil: the workspaces that are not set aside
}

// longRecordError means that a record takes so long that it must not delay others.
type longRecordError struct {
	record *record
	cause  error
}

func (e *longRecordError) Error() string { return e.cause.Error() }

// decide decides a group. A record that can never be decided becomes a dead letter and its
// outcome is an internal failure. If the failing record of a group is unknown, decide splits
// the group in halves, recursively. The caller retries after an error, except for a Rejoin
// error, which means to discard everything.
func (c *decider) decide(ctx context.Context, records []*record) error {
	for {
		err := c.writeDeadLetters(ctx, records)
		if err == nil {
			err = c.tryGroup(ctx, records)
		}
		var recordErr *recordError
		var longErr *longRecordError
		var stale *graphstore.StaleOffsets
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, consumers.IsRejoin(err): // not caused by a record
			return err
		case errors.As(err, &stale):
			return c.handleStale(ctx, records, stale)
		case errors.As(err, &longErr):
			c.partition.setAside(longErr.record)
		case errors.As(err, &recordErr):
			if !c.poisonIfPermanent(recordErr) {
				return err
			}
		case !postgres.IsDataError(err):
			return err
		case len(records) == 1:
			c.poison(records[0], err)
		default:
			c.logger.Warn(
				"the database refuses something in a group; deciding its halves", "records", len(records), "error", err,
			)
			middle := len(records) / 2
			if err := c.decide(ctx, records[:middle]); err != nil {
				return err
			}
			records = records[middle:]
		}
	}
}

// poisonIfPermanent marks the record as one that can never be decided and returns true, unless
// the failure may be temporary.
func (c *Consumer) poisonIfPermanent(e *recordError) bool {
	if fault.Is(postgres.Classify(e.cause), fault.Timeout) {
		e.record.timeouts++
	}
	if e.record.timeouts < maxTimeouts && !postgres.IsDataError(e.cause) {
		return false
	}
	c.poison(e.record, e.cause)
	return true
}

func (c *Consumer) poison(r *record, cause error) {
	r.poison = "cannot be decided: " + cause.Error()
}

// writeDeadLetters writes the records that can never be decided to the dead letters. It does so
// before the fence passes them, so a record may be there more than once, but only once from
// each process.
func (c *decider) writeDeadLetters(ctx context.Context, records []*record) error {
	var deadLetters []kafka.DeadLetter
	for _, r := range records {
		if r.poison == "" || r.deadLettered || c.isDecided(r) {
			continue
		}
		deadLetters = append(deadLetters, kafka.DeadLetter{Record: r.kafka, Reason: r.poison})
		c.logger.Error("dead letter", "topic", r.kafka.Topic, "partition", r.kafka.Partition, "offset", r.kafka.Offset,
			"requestId", string(kafka.Header(r.kafka, kafka.HeaderRequestID)), "reason", r.poison)
	}
	if len(deadLetters) == 0 {
		return nil
	}
	dead := consumers.DeadRecords(deadLetters, func(r *kgo.Record) (uuid.UUID, error) { return uuid.FromBytes(r.Key) })
	if err := c.deps.Graph.QueueDeadRecords(ctx, hooks.CommandsDead, dead); err != nil {
		return err
	}
	if err := c.deps.Log.ProduceDeadLetters(ctx, deadLetters); err != nil {
		return fmt.Errorf("writing dead letters: %w", err)
	}
	for _, r := range records {
		r.deadLettered = r.poison != ""
	}
	c.loop.Metrics().DeadLetters.Add(int64(len(deadLetters)))
	return nil
}

// isDecided reports whether a record was decided or set aside before.
func (c *decider) isDecided(r *record) bool { return c.aside == nil && c.partition.isDecided(r) }

// group is a command batch: the records that one transaction decides.
type group struct {
	c        *decider
	tx       *graphstore.Tx
	spec     graphstore.Group
	pending  []*record // records to decide
	deferred []*record // records to set aside
	end      int64     // offset after the last record
	replies  []redis.Reply
	counts   counts
}

// tryGroup decides records in one transaction and sends their outcomes.
func (c *decider) tryGroup(ctx context.Context, records []*record) error {
	if c.aside == nil {
		c.partition.fenceMu.Lock()
		defer c.partition.fenceMu.Unlock()
	}
	g, err := c.newGroup(records)
	if err != nil || g == nil {
		return err
	}
	if len(g.pending) == 0 { // all are set aside
		g.advance(ctx, c.partition.fenceMove(g.end, nil, 0, g.deferred).From)
		return nil
	}
	beginStart := time.Now()
	c.stacks.load(ctx, g.spec.Workspaces)
	if g.tx, err = c.deps.Graph.BeginGraph(ctx, g.spec); err != nil {
		return err
	}
	defer g.tx.Rollback()
	decideStart := time.Now()
	if err := g.decideAll(); err != nil {
		return err
	}
	commitStart := time.Now()
	if err := g.commit(ctx); err != nil {
		return err
	}
	c.metrics.group(
		len(g.pending), g.counts, decideStart.Sub(beginStart), commitStart.Sub(decideStart), time.Since(commitStart),
	)
	return nil
}

// commit commits the transaction, sends the outcomes and advances the partition. For a
// workspace set aside it moves the fence only now, because other groups of the partition may
// move it until then.
func (g *group) commit(ctx context.Context) error {
	c := g.c
	if c.aside != nil {
		c.partition.fenceMu.Lock()
		defer c.partition.fenceMu.Unlock()
		g.spec.Offsets = []graphstore.Offset{c.partition.fenceMove(0, c.aside, len(g.pending), nil)}
		if err := g.tx.MoveFence(g.spec); err != nil {
			return err
		}
	}
	if err := g.tx.Commit(); err != nil {
		return err
	}
	g.afterCommit()
	g.advance(ctx, g.spec.Offsets[0].To)
	return nil
}

// advance records in the partition that the group is decided and where the fence is, and starts
// the workspaces that are newly set aside.
func (g *group) advance(ctx context.Context, fence int64) {
	c := g.c
	if c.aside != nil {
		c.partition.removeDecided(c.aside, len(g.pending), fence)
		return
	}
	for _, w := range c.partition.advance(g.end, fence, g.deferred) {
		c.asideWorkers.Add(1)
		go func() {
			defer c.asideWorkers.Done()
			c.decideAside(ctx, c.partition, w)
		}()
	}
}

// writeAheadCommands is the number of commands after which their effects are written while the
// next ones are decided.
const writeAheadCommands = 500

func (g *group) decideAll() error {
	commands := 0
	for i, r := range g.pending {
		err := g.decide(r)
		if r.request != nil {
			commands += len(r.request.Actions)
		}
		if err == nil && commands >= writeAheadCommands && i < len(g.pending)-1 {
			commands = 0
			err = g.tx.WriteAhead()
		}
		if err == nil {
			continue
		}
		if errors.Is(err, graphstore.ErrManyEdges) || errors.Is(err, graphstore.ErrManyNodes) {
			return &longRecordError{r, err}
		}
		if failed := g.tx.Failed(); failed != nil { // perhaps not caused by this record
			return failed
		}
		return &recordError{r, err}
	}
	return nil
}

// newGroup creates a group from the records that are not yet decided and collects what the
// transaction must read for them. It returns nil if all records were decided or set aside
// before.
func (c *decider) newGroup(records []*record) (*group, error) {
	if now, err := c.Consumer.partition(c.partition.number); err != nil || now != c.partition {
		return nil, consumers.Rejoin(fmt.Errorf("partition %d is not ours any more", c.partition.number))
	}
	g := &group{c: c, pending: records, counts: counts{}, end: records[len(records)-1].kafka.Offset + 1}
	g.spec = graphstore.Group{TopicID: c.topic(), Owner: c.partition.owner}
	if c.aside == nil {
		var skipped int
		g.pending, g.deferred, skipped = c.partition.split(records)
		c.metrics.skipped.Add(float64(skipped))
		if skipped == len(records) {
			return nil, nil
		}
		g.spec.Offsets = []graphstore.Offset{c.partition.fenceMove(g.end, nil, 0, g.deferred)}
		g.spec.CascadeEdges = c.deps.Config.CascadeEdges
	}
	g.spec.Workspaces = collectNeeds(g.pending)
	return g, nil
}

// afterCommit sends the outcomes, updates the stack cache and notifies the publisher.
func (g *group) afterCommit() {
	c := g.c
	c.replier.send(g.replies)
	var changed []uuid.UUID
	for i := range g.spec.Workspaces {
		id := g.spec.Workspaces[i].Workspace
		state := g.tx.State(id)
		if state == nil {
			continue
		}
		c.stacks.save(id, state, g.spec.Workspaces[i].Stacks)
		if len(state.Recorded()) > 0 {
			changed = append(changed, id)
		}
	}
	c.publisher.addPending(changed)
}

// handleStale handles a fence that is not where the group expected it. If a commit succeeded
// but its response was lost, the fence is at the end of the group, and the group is decided.
// Otherwise handleStale returns a Rejoin error.
func (c *decider) handleStale(ctx context.Context, records []*record, stale *graphstore.StaleOffsets) error {
	c.partition.fenceMu.Lock()
	defer c.partition.fenceMu.Unlock()
	g, err := c.newGroup(records)
	if err != nil || g == nil {
		return err
	}
	moved := c.partition.fenceMove(g.end, nil, 0, g.deferred)
	if c.aside != nil {
		moved = c.partition.fenceMove(0, c.aside, len(g.pending), nil)
	}
	if !stale.Owned || stale.Next[moved.Partition] != moved.To {
		c.metrics.stale.Inc()
		return consumers.Rejoin(fmt.Errorf("somebody else decides this partition: %w", stale))
	}
	var refs []graphstore.CommandRef
	for _, r := range g.pending {
		if r.request != nil {
			refs = append(refs, graphstore.CommandRef{Workspace: r.request.Workspace, ID: r.request.ID})
		}
	}
	outcomes, err := c.deps.Graph.CommandOutcomes(ctx, refs)
	if err != nil {
		return err
	}
	for _, r := range g.pending {
		if r.request != nil {
			g.reply(r, outcomes[graphstore.CommandRef{Workspace: r.request.Workspace, ID: r.request.ID}])
		}
	}
	c.logger.Warn("a group was committed although its commit failed", "records", len(g.pending))
	c.replier.send(g.replies)
	c.publisher.requestPoll()
	g.advance(ctx, moved.To)
	return nil
}

// decide decides one record. An error comes from reading the state or from a defect of this code.
func (g *group) decide(r *record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	request := r.request
	if request == nil {
		return nil // no request to reply to
	}
	known := g.tx.Outcome(request.Workspace, request.ID)
	if known != nil && (!r.redriven() || !graphrecord.FailedInternally(known)) {
		g.counts.add(repeated, "", 1)
		g.reply(r, known)
		return nil
	}
	state := g.tx.State(request.Workspace)
	outcome, err := g.outcome(r, state)
	if err != nil {
		return err
	}
	encoded, err := graphrecord.EncodeOutcome(outcome)
	if err != nil {
		return err
	}
	if state != nil {
		g.tx.AddOutcome(request.Workspace, request.ID, request.Actor, encoded)
		if request.Mode == graphrecord.Separate {
			err = g.addResults(request, outcome)
		}
	}
	g.reply(r, encoded)
	return err
}

// addResults stores an outcome for each command of a non-atomic batch, because each can be
// queried by its own ID.
func (g *group) addResults(request *graphrecord.Request, batch *eventsv1.Outcome) error {
	for _, result := range batch.GetResults() {
		id, err := uuid.FromBytes(result.GetCommandId())
		if err != nil {
			return fmt.Errorf("a command's id: %w", err)
		}
		encoded, err := graphrecord.EncodeOutcome(graphrecord.OutcomeOf(result))
		if err != nil {
			return err
		}
		g.tx.AddOutcome(request.Workspace, id, request.Actor, encoded)
	}
	return nil
}

func (g *group) reply(r *record, encoded []byte) {
	if to := r.replyTo(); to != "" && encoded != nil {
		g.replies = append(g.replies, redis.Reply{To: to, ID: r.request.ID, Payload: encoded})
	}
}
