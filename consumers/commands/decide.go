package commands

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/redis"
)

// maxTimeouts is how often a record may take the database too long before it counts
// as one that can never be decided.
const maxTimeouts = 3

// culprit is an error that is known to be one record's.
type culprit struct {
	record *record
	cause  error
}

func (e *culprit) Error() string { return e.cause.Error() }
func (e *culprit) Unwrap() error { return e.cause }

// decide decides a group. A record that can never be decided is put aside and has
// that as its outcome; if it is not known which of several it is, they are decided in
// two halves, and so on. An error means to try again, or, if it is Rejoin's, to throw
// everything away.
func (c *Consumer) decide(ctx context.Context, records []*record) error {
	for {
		err := c.bury(ctx, records)
		if err == nil {
			err = c.tryGroup(ctx, records)
		}
		var one *culprit
		var stale *postgres.StaleOffsets
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, consumers.IsRejoin(err): // no record's doing
			return err
		case errors.As(err, &stale):
			return c.whenStale(ctx, records, stale)
		case errors.As(err, &one):
			if !c.isPoison(one) {
				return err
			}
		case !postgres.IsRefusal(err):
			return err
		case len(records) == 1:
			c.poison(records[0], err)
		default:
			c.logger.Warn("the database refuses something in a group; deciding its halves", "records", len(records), "error", err)
			middle := len(records) / 2
			if err := c.decide(ctx, records[:middle]); err != nil {
				return err
			}
			records = records[middle:]
		}
	}
}

// isPoison notes that a record can never be decided, unless its failure may pass.
func (c *Consumer) isPoison(e *culprit) bool {
	if fault.Is(postgres.Classify(e.cause), fault.Timeout) {
		e.record.timeouts++
	}
	if e.record.timeouts < maxTimeouts && !postgres.IsRefusal(e.cause) {
		return false
	}
	c.poison(e.record, e.cause)
	return true
}

func (c *Consumer) poison(r *record, cause error) {
	r.poison = "cannot be decided: " + cause.Error()
}

// bury puts those records into the dead letters that can never be decided. It comes
// before their offsets are passed, so they may be there twice, but once from each process.
func (c *Consumer) bury(ctx context.Context, records []*record) error {
	var letters []kafka.DeadLetter
	for _, r := range records {
		if r.poison == "" || r.buried || c.isDecided(r) {
			continue
		}
		letters = append(letters, kafka.DeadLetter{Record: r.kafka, Reason: r.poison})
		c.logger.Error("dead letter", "topic", r.kafka.Topic, "partition", r.kafka.Partition, "offset", r.kafka.Offset,
			"requestId", string(kafka.Header(r.kafka, kafka.HeaderRequestID)), "reason", r.poison)
	}
	if len(letters) == 0 {
		return nil
	}
	if err := c.deps.Log.ProduceDeadLetters(ctx, letters); err != nil {
		return fmt.Errorf("writing dead letters: %w", err)
	}
	for _, r := range records {
		r.buried = r.poison != ""
	}
	c.loop.Metrics().DeadLetters.Add(int64(len(letters)))
	return nil
}

// isDecided says that a record is below the fence.
func (c *Consumer) isDecided(r *record) bool {
	next, ours := c.at(r.kafka.Partition)
	return ours && r.kafka.Offset < next
}

// group is a group on its way through its transaction.
type group struct {
	c       *Consumer
	tx      *postgres.GraphTx
	spec    postgres.GraphGroup
	fresh   []*record // not below the fence
	replies []redis.Reply
	counts  counts
}

// tryGroup decides records in one transaction, and tells what came of them.
func (c *Consumer) tryGroup(ctx context.Context, records []*record) error {
	g, err := c.newGroup(records)
	if err != nil || len(g.fresh) == 0 {
		return err
	}
	began := time.Now()
	c.stacks.prepare(ctx, g.spec.Workspaces)
	if g.tx, err = c.deps.Graph.BeginGraph(ctx, g.spec); err != nil {
		return err
	}
	defer g.tx.Rollback()
	begun := time.Now()
	if err := g.decideAll(); err != nil {
		return err
	}
	decided := time.Now()
	if err := g.tx.Commit(); err != nil {
		return err
	}
	c.metrics.group(len(g.fresh), g.counts, begun.Sub(began), decided.Sub(begun), time.Since(decided))
	g.committed()
	return nil
}

// writeAhead is after how many commands what they do is written while the next ones
// are decided.
const writeAhead = 500

func (g *group) decideAll() error {
	commands := 0
	for i, r := range g.fresh {
		err := g.decide(r)
		if r.request != nil {
			commands += len(r.request.Actions)
		}
		if err == nil && commands >= writeAhead && i < len(g.fresh)-1 {
			commands = 0
			err = g.tx.WriteAhead()
		}
		if err == nil {
			continue
		}
		if failed := g.tx.Failed(); failed != nil { // not this record's doing, perhaps
			return failed
		}
		return &culprit{r, err}
	}
	return nil
}

// newGroup leaves out what is decided, and says what the rest is about.
func (c *Consumer) newGroup(records []*record) (*group, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := &group{c: c, spec: postgres.GraphGroup{TopicID: c.topicID}, counts: counts{}}
	ends := map[int32]int64{}
	for _, r := range records {
		next, ours := c.fence[r.kafka.Partition]
		switch {
		case !ours:
			return nil, consumers.Rejoin(fmt.Errorf("partition %d is not ours any more", r.kafka.Partition))
		case r.kafka.Offset < next:
			c.metrics.skipped.Inc()
		default:
			g.fresh = append(g.fresh, r)
			ends[r.kafka.Partition] = r.kafka.Offset + 1
		}
	}
	for p, end := range ends {
		g.spec.Offsets = append(g.spec.Offsets, postgres.GraphOffset{Partition: p, From: c.fence[p], To: end})
	}
	slices.SortFunc(g.spec.Offsets, func(a, b postgres.GraphOffset) int { return int(a.Partition - b.Partition) })
	g.spec.Workspaces = needsOf(g.fresh)
	return g, nil
}

// committed passes on what is decided.
func (g *group) committed() {
	c := g.c
	c.mu.Lock()
	for _, o := range g.spec.Offsets {
		if _, ours := c.fence[o.Partition]; ours {
			c.fence[o.Partition] = o.To
		}
	}
	c.mu.Unlock()
	c.replier.send(g.replies)
	var changed []uuid.UUID
	for i := range g.spec.Workspaces {
		id := g.spec.Workspaces[i].Workspace
		state := g.tx.State(id)
		if state == nil {
			continue
		}
		c.stacks.keep(id, state, g.spec.Workspaces[i].Stacks)
		if len(state.Recorded()) > 0 {
			changed = append(changed, id)
		}
	}
	c.publisher.changed(changed)
}

// whenStale finds out why the fence is not where it was: a commit whose answer was
// lost leaves it where the group ends, and then the group is decided.
func (c *Consumer) whenStale(ctx context.Context, records []*record, stale *postgres.StaleOffsets) error {
	g, err := c.newGroup(records)
	if err != nil {
		return err
	}
	for _, o := range g.spec.Offsets {
		if stale.Next[o.Partition] != o.To {
			c.metrics.stale.Inc()
			return consumers.Rejoin(fmt.Errorf("somebody else decides these partitions: %w", stale))
		}
	}
	var refs []postgres.CommandRef
	for _, r := range g.fresh {
		if r.request != nil {
			refs = append(refs, postgres.CommandRef{Workspace: r.request.Workspace, ID: r.request.ID})
		}
	}
	outcomes, err := c.deps.Graph.CommandOutcomes(ctx, refs)
	if err != nil {
		return err
	}
	for _, r := range g.fresh {
		if r.request != nil {
			g.reply(r, outcomes[postgres.CommandRef{Workspace: r.request.Workspace, ID: r.request.ID}])
		}
	}
	c.logger.Warn("a group was committed although its commit failed", "records", len(g.fresh))
	c.mu.Lock()
	for _, o := range g.spec.Offsets {
		c.fence[o.Partition] = o.To
	}
	c.mu.Unlock()
	c.replier.send(g.replies)
	c.publisher.look()
	return nil
}

// decide decides one record; an error is the state's or a defect of ours.
func (g *group) decide(r *record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	request := r.request
	if request == nil {
		return nil // nobody can be told
	}
	if known := g.tx.Outcome(request.Workspace, request.ID); known != nil && (!r.redriven() || !graphrecord.FailedInternally(known)) {
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
			err = g.addEach(request, outcome)
		}
	}
	g.reply(r, encoded)
	return err
}

// addEach keeps what came of each command of a batch that is not atomic: each has an
// id of its own, and can be asked for by it.
func (g *group) addEach(request *graphrecord.Request, batch *eventsv1.Outcome) error {
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
