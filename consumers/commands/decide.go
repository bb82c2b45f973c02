package commands

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
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

// decider decides records of a partition: all but those of workspaces that are set aside,
// or those of one that is.
type decider struct {
	*Consumer
	partition *partition
	aside     *aside // nil: the rest of the partition
}

// longRecord is an error that says that a record takes longer than others should wait.
type longRecord struct{ record *record }

func (*longRecord) Error() string { return graphstore.ErrManyEdges.Error() }

// decide decides a group. A record that can never be decided is put aside and has
// that as its outcome; if it is not known which of several it is, they are decided in
// two halves, and so on. An error means to try again, or, if it is Rejoin's, to throw
// everything away.
func (c *decider) decide(ctx context.Context, records []*record) error {
	for {
		err := c.bury(ctx, records)
		if err == nil {
			err = c.tryGroup(ctx, records)
		}
		var one *culprit
		var long *longRecord
		var stale *graphstore.StaleOffsets
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, consumers.IsRejoin(err): // no record's doing
			return err
		case errors.As(err, &stale):
			return c.whenStale(ctx, records, stale)
		case errors.As(err, &long):
			c.partition.setAside(long.record)
		case errors.As(err, &one):
			if !c.isPoison(one) {
				return err
			}
		case !postgres.IsRefusal(err):
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
func (c *decider) bury(ctx context.Context, records []*record) error {
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

// isDecided reports whether a record was decided before.
func (c *decider) isDecided(r *record) bool { return c.aside == nil && c.partition.isDecided(r) }

// group is a group on its way through its transaction.
type group struct {
	c       *decider
	tx      *graphstore.Tx
	spec    graphstore.Group
	fresh   []*record // that are decided
	later   []*record // that are set aside
	end     int64     // of all of them
	replies []redis.Reply
	counts  counts
}

// tryGroup decides records in one transaction, and tells what came of them.
func (c *decider) tryGroup(ctx context.Context, records []*record) error {
	if c.aside == nil {
		c.partition.turn.Lock()
		defer c.partition.turn.Unlock()
	}
	g, err := c.newGroup(records)
	if err != nil || g == nil {
		return err
	}
	if len(g.fresh) == 0 { // all are set aside
		g.advance(ctx, c.partition.fence(g.end, nil, 0, g.later).From)
		return nil
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
	if err := g.commit(ctx); err != nil {
		return err
	}
	c.metrics.group(len(g.fresh), g.counts, begun.Sub(began), decided.Sub(begun), time.Since(decided))
	return nil
}

// commit commits, and passes on what is decided. What was set aside moves the fence only
// now: until then the rest of its partition did.
func (g *group) commit(ctx context.Context) error {
	c := g.c
	if c.aside != nil {
		c.partition.turn.Lock()
		defer c.partition.turn.Unlock()
		g.spec.Offsets = []graphstore.Offset{c.partition.fence(0, c.aside, len(g.fresh), nil)}
		if err := g.tx.MoveFence(g.spec); err != nil {
			return err
		}
	}
	if err := g.tx.Commit(); err != nil {
		return err
	}
	g.committed()
	g.advance(ctx, g.spec.Offsets[0].To)
	return nil
}

// advance notes that the group is decided, and where the fence is.
func (g *group) advance(ctx context.Context, fence int64) {
	c := g.c
	if c.aside != nil {
		c.partition.decided(c.aside, len(g.fresh), fence)
		return
	}
	for _, w := range c.partition.advance(g.end, fence, g.later) {
		c.beside.Add(1)
		go func() {
			defer c.beside.Done()
			c.decideAside(ctx, c.partition, w)
		}()
	}
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
		if errors.Is(err, graphstore.ErrManyEdges) {
			return &longRecord{r}
		}
		if failed := g.tx.Failed(); failed != nil { // not this record's doing, perhaps
			return failed
		}
		return &culprit{r, err}
	}
	return nil
}

// newGroup leaves out what is decided or set aside, and says what the rest is about; nil:
// nothing is left.
func (c *decider) newGroup(records []*record) (*group, error) {
	if now, err := c.Consumer.partition(c.partition.number); err != nil || now != c.partition {
		return nil, consumers.Rejoin(fmt.Errorf("partition %d is not ours any more", c.partition.number))
	}
	g := &group{c: c, fresh: records, counts: counts{}, end: records[len(records)-1].kafka.Offset + 1}
	g.spec = graphstore.Group{TopicID: c.topic(), Owner: c.partition.owner}
	if c.aside == nil {
		var skipped int
		g.fresh, g.later, skipped = c.partition.split(records)
		c.metrics.skipped.Add(float64(skipped))
		if skipped == len(records) {
			return nil, nil
		}
		g.spec.Offsets = []graphstore.Offset{c.partition.fence(g.end, nil, 0, g.later)}
		g.spec.CascadeEdges = c.deps.Config.CascadeEdges
	}
	g.spec.Workspaces = needsOf(g.fresh)
	return g, nil
}

// committed reports what is decided.
func (g *group) committed() {
	c := g.c
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
func (c *decider) whenStale(ctx context.Context, records []*record, stale *graphstore.StaleOffsets) error {
	c.partition.turn.Lock()
	defer c.partition.turn.Unlock()
	g, err := c.newGroup(records)
	if err != nil || g == nil {
		return err
	}
	moved := c.partition.fence(g.end, nil, 0, g.later)
	if c.aside != nil {
		moved = c.partition.fence(0, c.aside, len(g.fresh), nil)
	}
	if !stale.Owned || stale.Next[moved.Partition] != moved.To {
		c.metrics.stale.Inc()
		return consumers.Rejoin(fmt.Errorf("somebody else decides this partition: %w", stale))
	}
	var refs []graphstore.CommandRef
	for _, r := range g.fresh {
		if r.request != nil {
			refs = append(refs, graphstore.CommandRef{Workspace: r.request.Workspace, ID: r.request.ID})
		}
	}
	outcomes, err := c.deps.Graph.CommandOutcomes(ctx, refs)
	if err != nil {
		return err
	}
	for _, r := range g.fresh {
		if r.request != nil {
			g.reply(r, outcomes[graphstore.CommandRef{Workspace: r.request.Workspace, ID: r.request.ID}])
		}
	}
	c.logger.Warn("a group was committed although its commit failed", "records", len(g.fresh))
	c.replier.send(g.replies)
	c.publisher.look()
	g.advance(ctx, moved.To)
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
