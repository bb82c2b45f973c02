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

// Limits of redriving.
const (
	batchBytes = 8 << 20
	// maxLag is the lag of the consumer below which the next batch is redriven, and
	// maxLagWait the maximum wait for it. Otherwise retention could remove records from the
	// log before they are stored.
	maxLag          = 10_000
	maxLagWait      = time.Minute
	lagPollInterval = 250 * time.Millisecond
	// minLagWait is the minimum wait, even if less time is left: reading the lag takes
	// some time.
	minLagWait = 5 * time.Second
	// maxOutcomes is the maximum number of outcomes that a bulk action returns individually.
	maxOutcomes = 1000
)

// DeadLetterRequest selects the dead letters to redrive or discard: those at Places or, if Places
// is empty, all open ones that match Filter.
type DeadLetterRequest struct {
	Records []RecordRef      `json:"places"`
	Filter  DeadLetterFilter `json:"filter"`
	DryRun  bool             `json:"dryRun"` // report the outcomes without changing anything
	// Again includes dead letters that are already redriven or discarded.
	Again       bool   `json:"again"`
	Reason      string `json:"reason"` // required for a discard, optional for a redrive
	RequestedBy string `json:"-"`
	// TimeBudget is the time after which no further batch is started. The result's Rest is then
	// what remains. 0: no limit. It does not apply to Places.
	TimeBudget time.Duration `json:"-"`
	// Remaining is the Rest of the result of an earlier request with the same filter, to resume it.
	Remaining []RemainingRange `json:"-"`
}

// Outcome is the outcome for a dead letter.
type Outcome string

// The outcomes.
const (
	OutcomeRedriven  Outcome = "redriven"
	OutcomeDiscarded Outcome = "discarded"
	OutcomeSkipped   Outcome = "skipped"
	OutcomePlanned   Outcome = "would" // dry run: would be redriven or discarded
)

// DeadLetterOutcome is a dead letter and the outcome for it.
type DeadLetterOutcome struct {
	DeadLetter
	Outcome    Outcome `json:"fate"`
	SkipReason string  `json:"why,omitempty"` // why it was skipped
}

// DeadLetterResult is the result of a redrive or a discard.
type DeadLetterResult struct {
	Outcomes []DeadLetterOutcome `json:"outcomes"` // the first 1000
	Counts   map[Outcome]int64   `json:"counts"`
	Scan
	Remaining []RemainingRange `json:"-"` // what remains; empty: complete
}

// DeadLetterDetails is a dead letter with its content.
type DeadLetterDetails struct {
	DeadLetter
	Headers map[string]string `json:"headers"`
	Decoded Decoded           `json:"decoded"`
	Key     []byte            `json:"-"`
	Value   []byte            `json:"-"`
}

// ShowDeadLetter returns a dead letter, decoded and raw.
func (s *Service) ShowDeadLetter(ctx context.Context, ref RecordRef) (DeadLetterDetails, error) {
	_, l, err := s.readLetter(ctx, ref)
	if err != nil {
		return DeadLetterDetails{}, err
	}
	c := contentOf(l.Topic, l.record.Value)
	shown := DeadLetterDetails{
		DeadLetter: l.DeadLetter, Headers: map[string]string{}, Decoded: c.decode(), Key: l.record.Key, Value: l.record.Value,
	}
	for _, h := range l.record.Headers {
		shown.Headers[h.Key] = string(h.Value)
	}
	return shown, nil
}

// Redrive writes dead letters back to their original topics, where the consumer reads them
// again. Points are stored with their original version, so newer points are not overwritten
// and redriving twice has no effect. A command is executed again, with the same id, if its
// outcome is known to be an internal failure; see consumers/commands.
func (s *Service) Redrive(
	ctx context.Context, r DeadLetterRequest, progress func(DeadLetterResult),
) (DeadLetterResult, error) {
	return s.process(ctx, r, progress, s.redrive)
}

// Discard marks dead letters as discarded. They stay in their topics and are listed as
// discarded.
func (s *Service) Discard(
	ctx context.Context, r DeadLetterRequest, progress func(DeadLetterResult),
) (DeadLetterResult, error) {
	if r.Reason == "" {
		return DeadLetterResult{}, fault.Field(fault.Invalid, "reason", "is required")
	}
	return s.process(ctx, r, progress, s.discard)
}

// MaxReason is the maximum length of a mark's reason, in bytes.
const MaxReason = 1000

// selectPending returns the dead letters without a mark, or all with Again, and the outcomes of
// those that it skips.
func (r *DeadLetterRequest) selectPending(
	letters []letterRecord,
) (pending []letterRecord, outcomes []DeadLetterOutcome) {
	for _, l := range letters {
		if l.Mark != nil && !r.Again {
			reason := fmt.Sprintf(
				"it was %s already, by %s at %s", l.Mark.State, l.Mark.MarkedBy, l.Mark.At.UTC().Format(time.RFC3339),
			)
			outcomes = append(
				outcomes, DeadLetterOutcome{DeadLetter: l.DeadLetter, Outcome: OutcomeSkipped, SkipReason: reason},
			)
			continue
		}
		pending = append(pending, l)
	}
	return pending, outcomes
}

func (s *Service) discard(
	ctx context.Context, r DeadLetterRequest, t kafka.Overview, letters []letterRecord,
) ([]DeadLetterOutcome, error) {
	pending, outcomes := r.selectPending(letters)
	if !r.DryRun {
		mark := jobs.DeadLetterMark{State: jobs.DeadLetterDiscarded, MarkedBy: r.RequestedBy, Reason: r.Reason}
		if err := s.registry.MarkDeadLetters(ctx, t.ID, positionsOf(pending), mark); err != nil {
			return outcomes, err
		}
	}
	return append(outcomes, outcomesOf(pending, r.DryRun, OutcomeDiscarded)...), nil
}

func outcomesOf(letters []letterRecord, dryRun bool, fate Outcome) []DeadLetterOutcome {
	outcomes := make([]DeadLetterOutcome, len(letters))
	for i, l := range letters {
		outcomes[i] = DeadLetterOutcome{DeadLetter: l.DeadLetter, Outcome: fate}
		if dryRun {
			outcomes[i].Outcome = OutcomePlanned
			continue
		}
		outcomes[i].State = jobs.DeadLetterState(fate)
	}
	return outcomes
}

func positionsOf(letters []letterRecord) []jobs.LogPosition {
	positions := make([]jobs.LogPosition, len(letters))
	for i, l := range letters {
		positions[i] = l.position()
	}
	return positions
}

// redrive writes dead letters of one topic back to the original topic and marks them. It
// produces first: after a crash in between they are still open, and redriving them again has
// no effect.
func (s *Service) redrive(
	ctx context.Context, r DeadLetterRequest, t kafka.Overview, letters []letterRecord,
) ([]DeadLetterOutcome, error) {
	pending, outcomes := r.selectPending(letters)
	refusals, err := s.refusals(ctx, t, pending)
	if err != nil {
		return outcomes, err
	}
	var allowed []letterRecord
	for i, l := range pending {
		if refusals[i] != "" {
			outcomes = append(
				outcomes, DeadLetterOutcome{DeadLetter: l.DeadLetter, Outcome: OutcomeSkipped, SkipReason: refusals[i]},
			)
			continue
		}
		allowed = append(allowed, l)
	}
	if len(allowed) == 0 || r.DryRun {
		return append(outcomes, outcomesOf(allowed, r.DryRun, OutcomeRedriven)...), nil
	}
	origin, _ := kafka.IsDeadLetters(t.Label)
	if err := s.waitForLag(ctx, origin, r.lagTimeout()); err != nil {
		return outcomes, err
	}
	records := make([]*kgo.Record, len(allowed))
	for i, l := range allowed {
		records[i] = l.record
	}
	if err := s.log.Redrive(ctx, records); err != nil {
		return outcomes, err
	}
	mark := jobs.DeadLetterMark{State: jobs.DeadLetterRedriven, MarkedBy: r.RequestedBy, Reason: r.Reason}
	if err := s.registry.MarkDeadLetters(ctx, t.ID, positionsOf(allowed), mark); err != nil {
		return outcomes, err
	}
	if err := s.clearDeadRecords(ctx, origin, allowed); err != nil {
		return outcomes, err
	}
	return append(outcomes, outcomesOf(allowed, false, OutcomeRedriven)...), nil
}

// clearDeadRecords marks records of points as redriven, so that checkpoints no longer report
// them as dead letters.
func (s *Service) clearDeadRecords(ctx context.Context, origin string, letters []letterRecord) error {
	if origin != kafka.TopicPoints {
		return nil
	}
	topic, err := s.topic(ctx, origin)
	if err != nil {
		return err
	}
	var positions []jobs.LogPosition
	for _, l := range letters {
		if l.Origin != nil {
			positions = append(positions, l.Origin.position())
		}
	}
	return s.registry.RedriveDeadRecords(ctx, topic.ID, positions)
}

// refusals returns for each dead letter the reason why it must not be redriven, or "" if it may be.
func (s *Service) refusals(ctx context.Context, t kafka.Overview, letters []letterRecord) ([]string, error) {
	reasons := make([]string, len(letters))
	horizon, err := s.registry.TombstoneHorizon(ctx)
	if err != nil {
		return nil, err
	}
	contents := make([]content, len(letters))
	var commands []graphstore.CommandRef
	for i, l := range letters {
		c := contentOf(t.Label, l.record.Value)
		contents[i] = c
		switch {
		case c.err != nil:
			reasons[i] = "it cannot be read and would become a dead letter again: " + c.err.Error()
		case c.points != nil && l.Version == 0:
			reasons[i] = "it has no version for its points"
		case c.points != nil && len(c.points.Spans) > 0 && timeOf(c.points.ReceivedAtUS).Before(horizon):
			reasons[i] = "it was received before " + horizon.UTC().Format(time.RFC3339) +
				", and the deletions since then are not known any more: its points would not be stored"
		case c.request != nil:
			commands = append(commands, graphstore.CommandRef{Workspace: c.request.Workspace, ID: c.request.ID})
		}
	}
	if len(commands) == 0 {
		return reasons, nil
	}
	outcomes, err := s.registry.CommandOutcomes(ctx, commands)
	if err != nil {
		return nil, err
	}
	for i := range contents {
		if request := contents[i].request; reasons[i] == "" && request != nil {
			reasons[i] = commandRefusal(outcomes[graphstore.CommandRef{Workspace: request.Workspace, ID: request.ID}])
		}
	}
	return reasons, nil
}

// commandRefusal returns the reason why a command with this outcome must not be executed again,
// or "" if it may be. A nil outcome is unknown.
func commandRefusal(outcome []byte) string {
	if outcome == nil {
		return "the outcome of the command is not known any more (outcomes are kept for 24 hours), so it might be " +
			"executed twice; the client can send it again"
	}
	if !graphrecord.FailedInternally(outcome) {
		return "the command was decided after all"
	}
	return ""
}

// lagTimeout returns the maximum wait of a batch for the consumer.
func (r *DeadLetterRequest) lagTimeout() time.Duration {
	if r.TimeBudget > 0 {
		return min(max(r.TimeBudget, minLagWait), maxLagWait)
	}
	return maxLagWait
}

// waitForLag waits until the lag of the consumer of a topic is below maxLag. It returns
// fault.Unavailable after the timeout.
func (s *Service) waitForLag(ctx context.Context, origin string, timeout time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		topic, err := s.topic(waiting, origin)
		if err != nil && waiting.Err() == nil {
			return err
		}
		if lag := topicOf(topic).Lag; err == nil && (lag == nil || *lag < maxLag) {
			return nil
		}
		if sleep.For(waiting, lagPollInterval) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Newf(
			fault.Unavailable,
			"the consumer of %s is more than %d records behind: nothing more is redriven until it has caught up", origin,
			maxLag,
		)
	}
}

// DeadLetterCounts counts the dead letters by topic and state.
func (s *Service) DeadLetterCounts(ctx context.Context) (map[string]map[jobs.DeadLetterState]int64, error) {
	topics, err := s.log.Overviews(ctx, DeadLetterTopics()...)
	if err != nil {
		return nil, err
	}
	counts := map[string]map[jobs.DeadLetterState]int64{}
	for _, t := range topics {
		starts := make([]jobs.LogPosition, len(t.Partitions))
		for i, p := range t.Partitions {
			starts[i] = jobs.LogPosition{Partition: p.Partition, Offset: p.Start}
		}
		marked, err := s.registry.CountDeadLetterMarks(ctx, t.ID, starts)
		if err != nil {
			return nil, err
		}
		all := topicOf(t).Records
		marked[jobs.DeadLetterOpen] = max(all-marked[jobs.DeadLetterRedriven]-marked[jobs.DeadLetterDiscarded], 0)
		counts[t.Label] = marked
	}
	return counts, nil
}
