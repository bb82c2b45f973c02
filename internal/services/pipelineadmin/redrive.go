package pipelineadmin

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Bounds of what is put back at once.
const (
	portionBytes = 8 << 20
	// lagLimit is how many records a consumer may be behind when the next portion is
	// put back, and lagWait how long that is waited for: what is put back must not push
	// out of the log what is not stored yet.
	lagLimit = 10_000
	lagWait  = time.Minute
	lagLook  = 250 * time.Millisecond
	// shortLagWait is the least wait, however little time a request has: the look itself
	// takes some.
	shortLagWait = 5 * time.Second
	// maxOutcomes is how many outcomes a bulk action gives one by one.
	maxOutcomes = 1000
)

// LetterRequest says which dead letters to do something about: those at Places, or,
// without any, all open ones of Filter.
type LetterRequest struct {
	Places []Place      `json:"places"`
	Filter LetterFilter `json:"filter"`
	DryRun bool         `json:"dryRun"` // say what would be done, and do nothing
	// Again does it to letters, too, about which something was done before.
	Again  bool   `json:"again"`
	Reason string `json:"reason"` // of a discard, required there; of a redrive, may be empty
	By     string `json:"-"`
	// Within is for how long portions are begun; what is left then is in the result's
	// Rest. 0: until all is done. Letters at Places are all done.
	Within time.Duration `json:"-"`
	// Rest goes on with what an earlier request of the same filter has left.
	Rest []Rest `json:"-"`
}

// Fate is what became of a letter.
type Fate string

// The fates.
const (
	FateRedriven  Fate = "redriven"
	FateDiscarded Fate = "discarded"
	FateSkipped   Fate = "skipped"
	FateWould     Fate = "would" // of a dry run
)

// LetterOutcome is what became of one letter.
type LetterOutcome struct {
	Letter
	Fate Fate   `json:"fate"`
	Why  string `json:"why,omitempty"` // it was skipped
}

// LetterResult is what became of letters.
type LetterResult struct {
	Outcomes []LetterOutcome `json:"outcomes"` // the first thousand
	Counts   map[Fate]int64  `json:"counts"`
	Scan
	Rest []Rest `json:"-"` // what is left; none: all is done
}

// ShownLetter is a letter with all that is in it.
type ShownLetter struct {
	Letter
	Headers map[string]string `json:"headers"`
	Decoded Decoded           `json:"decoded"`
	Key     []byte            `json:"-"`
	Value   []byte            `json:"-"`
}

// ShowLetter returns a dead letter, decoded and raw.
func (d *Service) ShowLetter(ctx context.Context, at Place) (ShownLetter, error) {
	_, one, err := d.letter(ctx, at)
	if err != nil {
		return ShownLetter{}, err
	}
	c := contentOf(one.Topic, one.record.Value)
	shown := ShownLetter{
		Letter: one.Letter, Headers: map[string]string{}, Decoded: c.decode(), Key: one.record.Key, Value: one.record.Value,
	}
	for _, h := range one.record.Headers {
		shown.Headers[h.Key] = string(h.Value)
	}
	return shown, nil
}

// Redrive puts dead letters back into their topics, where their consumer takes them
// up once more. Points are stored under the version that they would have had, so
// nothing newer is overwritten, and to put a letter back twice changes nothing. A
// command is decided again, under its own id, if it is known to have failed for an
// internal reason; see consumers/commands.
func (d *Service) Redrive(ctx context.Context, r LetterRequest, progress func(LetterResult)) (LetterResult, error) {
	return d.each(ctx, r, progress, d.redrive)
}

// Discard notes that nothing is to be done about dead letters. They stay in their
// topics, and are listed as discarded.
func (d *Service) Discard(ctx context.Context, r LetterRequest, progress func(LetterResult)) (LetterResult, error) {
	if r.Reason == "" {
		return LetterResult{}, fault.Field(fault.Invalid, "reason", "is required")
	}
	return d.each(ctx, r, progress, d.discard)
}

// MaxReason bounds the text of a mark's reason.
const MaxReason = 1000

// sort returns those letters about which nothing was done yet, and the outcomes of the
// others.
func (r *LetterRequest) sort(letters []found) (todo []found, outcomes []LetterOutcome) {
	for _, one := range letters {
		if one.Mark != nil && !r.Again {
			outcomes = append(
				outcomes,
				LetterOutcome{Letter: one.Letter, Fate: FateSkipped, Why: fmt.Sprintf("it was %s already, by %s at %s",
					one.Mark.State, one.Mark.By, one.Mark.At.UTC().Format(time.RFC3339))},
			)
			continue
		}
		todo = append(todo, one)
	}
	return todo, outcomes
}

func (d *Service) discard(
	ctx context.Context, r LetterRequest, t kafka.Overview, letters []found,
) ([]LetterOutcome, error) {
	todo, outcomes := r.sort(letters)
	if !r.DryRun {
		mark := jobs.LetterMark{State: jobs.LetterDiscarded, By: r.By, Reason: r.Reason}
		if err := d.registry.MarkLetters(ctx, t.ID, positionsOf(todo), mark); err != nil {
			return outcomes, err
		}
	}
	return append(outcomes, fates(todo, r.DryRun, FateDiscarded)...), nil
}

func fates(letters []found, dry bool, fate Fate) []LetterOutcome {
	outcomes := make([]LetterOutcome, len(letters))
	for i, one := range letters {
		outcomes[i] = LetterOutcome{Letter: one.Letter, Fate: fate}
		if dry {
			outcomes[i].Fate = FateWould
			continue
		}
		outcomes[i].State = jobs.LetterState(fate)
	}
	return outcomes
}

func positionsOf(letters []found) []jobs.LogPosition {
	places := make([]jobs.LogPosition, len(letters))
	for i, one := range letters {
		places[i] = one.position()
	}
	return places
}

// redrive puts letters of one topic back, and marks them. It produces first: a crash
// in between leaves them open, and putting them back again does no harm.
func (d *Service) redrive(
	ctx context.Context, r LetterRequest, t kafka.Overview, letters []found,
) ([]LetterOutcome, error) {
	todo, outcomes := r.sort(letters)
	refusals, err := d.refusals(ctx, t, todo)
	if err != nil {
		return outcomes, err
	}
	var allowed []found
	for i, one := range todo {
		if refusals[i] != "" {
			outcomes = append(outcomes, LetterOutcome{Letter: one.Letter, Fate: FateSkipped, Why: refusals[i]})
			continue
		}
		allowed = append(allowed, one)
	}
	if len(allowed) == 0 || r.DryRun {
		return append(outcomes, fates(allowed, r.DryRun, FateRedriven)...), nil
	}
	origin, _ := kafka.IsDeadLetters(t.Label)
	if err := d.awaitRoom(ctx, origin, r.roomWait()); err != nil {
		return outcomes, err
	}
	records := make([]*kgo.Record, len(allowed))
	for i, one := range allowed {
		records[i] = one.record
	}
	if err := d.log.Redrive(ctx, records); err != nil {
		return outcomes, err
	}
	mark := jobs.LetterMark{State: jobs.LetterRedriven, By: r.By, Reason: r.Reason}
	if err := d.registry.MarkLetters(ctx, t.ID, positionsOf(allowed), mark); err != nil {
		return outcomes, err
	}
	if err := d.noteRedriven(ctx, origin, allowed); err != nil {
		return outcomes, err
	}
	return append(outcomes, fates(allowed, false, FateRedriven)...), nil
}

// noteRedriven has checkpoints no longer say that points' records are put aside.
func (d *Service) noteRedriven(ctx context.Context, origin string, letters []found) error {
	if origin != kafka.TopicPoints {
		return nil
	}
	topic, err := d.topic(ctx, origin)
	if err != nil {
		return err
	}
	var places []jobs.LogPosition
	for _, one := range letters {
		if one.Origin != nil {
			places = append(places, one.Origin.position())
		}
	}
	return d.registry.RedriveDeadRecords(ctx, topic.ID, places)
}

// refusals says of each letter why it must not be put back; "": it may be.
func (d *Service) refusals(ctx context.Context, t kafka.Overview, letters []found) ([]string, error) {
	why := make([]string, len(letters))
	horizon, err := d.registry.TombstoneHorizon(ctx)
	if err != nil {
		return nil, err
	}
	contents := make([]content, len(letters))
	var commands []graphstore.CommandRef
	for i, one := range letters {
		c := contentOf(t.Label, one.record.Value)
		contents[i] = c
		switch {
		case c.err != nil:
			why[i] = "it cannot be read, and would come back: " + c.err.Error()
		case c.points != nil && one.Version == 0:
			why[i] = "it does not say which version its points have"
		case c.points != nil && len(c.points.Spans) > 0 && timeOf(c.points.ReceivedAtUS).Before(horizon):
			why[i] = "it came before " + horizon.UTC().Format(time.RFC3339) +
				", and what was deleted since is not known any more: its points would not be stored"
		case c.request != nil:
			commands = append(commands, graphstore.CommandRef{Workspace: c.request.Workspace, ID: c.request.ID})
		}
	}
	if len(commands) == 0 {
		return why, nil
	}
	outcomes, err := d.registry.CommandOutcomes(ctx, commands)
	if err != nil {
		return nil, err
	}
	for i := range contents {
		if request := contents[i].request; why[i] == "" && request != nil {
			why[i] = refusalOfCommand(outcomes[graphstore.CommandRef{Workspace: request.Workspace, ID: request.ID}])
		}
	}
	return why, nil
}

// refusalOfCommand says by a command's outcome why it must not be decided again.
func refusalOfCommand(outcome []byte) string {
	if outcome == nil {
		return "what came of the command is not known any more (outcomes are kept for 24 hours), so it might be carried " +
			"out twice; whoever sent it may send it again"
	}
	if !graphrecord.FailedInternally(outcome) {
		return "the command was decided after all"
	}
	return ""
}

// roomWait is for how long a portion may wait for the consumer.
func (r *LetterRequest) roomWait() time.Duration {
	if r.Within > 0 {
		return min(max(r.Within, shortLagWait), lagWait)
	}
	return lagWait
}

// awaitRoom waits, for so long, until the consumer of a topic is not far behind.
func (d *Service) awaitRoom(ctx context.Context, origin string, most time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		topic, err := d.topic(waiting, origin)
		if err != nil && waiting.Err() == nil {
			return err
		}
		if lag := topicOf(topic).Lag; err == nil && (lag == nil || *lag < lagLimit) {
			return nil
		}
		if sleep.For(waiting, lagLook) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Newf(
			fault.Unavailable,
			"the consumer of %s is more than %d records behind: nothing more is put back until it has caught up", origin,
			lagLimit,
		)
	}
}

// LetterCounts counts the letters of a topic by state.
func (d *Service) LetterCounts(ctx context.Context) (map[string]map[jobs.LetterState]int64, error) {
	topics, err := d.log.Overviews(ctx, LetterTopics()...)
	if err != nil {
		return nil, err
	}
	counts := map[string]map[jobs.LetterState]int64{}
	for _, t := range topics {
		starts := make([]jobs.LogPosition, len(t.Partitions))
		for i, p := range t.Partitions {
			starts[i] = jobs.LogPosition{Partition: p.Partition, Offset: p.Start}
		}
		marked, err := d.registry.CountLetterMarks(ctx, t.ID, starts)
		if err != nil {
			return nil, err
		}
		all := topicOf(t).Records
		marked[jobs.LetterOpen] = max(all-marked[jobs.LetterRedriven]-marked[jobs.LetterDiscarded], 0)
		counts[t.Label] = marked
	}
	return counts, nil
}
