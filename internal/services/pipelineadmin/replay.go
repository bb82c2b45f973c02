package pipelineadmin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// ReplayRequest selects the records to replay. Exactly one of FromStart, FromTime and FromOffsets
// is the start. Without ToTime and ToOffsets, the end is the current end of the log. Times are
// those at which records were produced.
type ReplayRequest struct {
	Topic       string          `json:"topic"`
	FromStart   bool            `json:"fromStart"`
	FromTime    *time.Time      `json:"fromTime"`
	FromOffsets map[int32]int64 `json:"fromOffsets"` // by partition; only these partitions are read
	ToTime      *time.Time      `json:"toTime"`      // exclusive
	ToOffsets   map[int32]int64 `json:"toOffsets"`   // exclusive; a partition without one is read to the end
	Partitions  []int32         `json:"partitions"`  // empty: all
	Workspace   *uuid.UUID      `json:"workspaceId"` // nil: all
	MaxRows     *int64          `json:"maxRowsPerSecond"`
	RequestedBy string          `json:"-"` // name of the operator
}

// replayable has the consumer that replays a topic, or the reason why the topic cannot be replayed.
var replayable = map[string]struct{ consumer, reason string }{
	kafka.TopicPoints: {consumer: "points"},
	kafka.TopicCommands: {
		reason: "cannot be replayed: every command was decided once, and a record that is read again " +
			"changes nothing. The changes of commands are in the history (GET /api/queries/history) " +
			"and in `livegraph export`",
	},
	kafka.TopicEvents: {
		reason: "cannot be replayed: this version has no built-in consumer of it. Replay a custom consumer by " +
			"resetting its offsets (schemas/topics.md)",
	},
	kafka.TopicAudit: {
		reason: "cannot be replayed: its records are stored once, and nothing is computed from them that could be wrong",
	},
}

// ReplayableTopics returns the topics that can be replayed.
func ReplayableTopics() []string {
	var names []string
	for name, r := range replayable {
		if r.consumer != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Replay is the state of a replay, with totals over its partitions.
type Replay struct {
	jobs.Replay
	Records     int64    `json:"records"`     // in its range
	RecordsDone int64    `json:"recordsDone"` // including trimmed ones
	Trimmed     int64    `json:"trimmed"`     // no longer in the log
	Percent     float64  `json:"percent"`
	ETASeconds  *float64 `json:"etaSeconds"` // nil: unknown
	Notes       []string `json:"notes"`      // remarks for the operator
}

func replayOf(job jobs.Replay) Replay {
	r := Replay{Replay: job, Notes: []string{}}
	r.Records, r.RecordsDone, r.Trimmed = job.Progress()
	r.Percent = 100
	if r.Records > 0 {
		r.Percent = 100 * float64(r.RecordsDone) / float64(r.Records)
	}
	if left := r.Records - r.RecordsDone; job.State == jobs.ReplayRunning && job.RecordsRate > 0 {
		eta := float64(left) / job.RecordsRate
		r.ETASeconds = &eta
	}
	if r.Trimmed > 0 {
		r.Notes = append(
			r.Notes, "removed from the range by the topic's retention before they were read: "+plural.Count(r.Trimmed, "record"),
		)
	}
	if job.Refused > 0 {
		r.Notes = append(
			r.Notes,
			"skipped because they are unreadable or cannot be stored: "+plural.Count(job.Refused, "record")+
				"; `livegraph dlq list` lists them since they were first consumed",
		)
	}
	if job.State == jobs.ReplayQueued {
		r.Notes = append(r.Notes, "it waits for a process with the role "+job.Consumer)
	}
	return r
}

// PlanReplay returns the replay that the request would queue, without queueing it.
func (s *Service) PlanReplay(ctx context.Context, r ReplayRequest) (Replay, error) {
	job, err := s.plan(ctx, r)
	return replayOf(job), err
}

// StartReplay queues a replay. A process that runs the consumer starts it within seconds.
func (s *Service) StartReplay(ctx context.Context, r ReplayRequest) (Replay, error) {
	job, err := s.plan(ctx, r)
	if err == nil {
		job, err = s.registry.CreateReplay(ctx, job)
	}
	return replayOf(job), err
}

// Replay returns one replay. It returns fault.NotFound if the replay does not exist.
func (s *Service) Replay(ctx context.Context, id uuid.UUID) (Replay, error) {
	job, err := s.registry.Replay(ctx, id)
	return replayOf(job), err
}

// Replays lists at most limit replays, newest first, after skipping offset. It also returns the
// total number of replays.
func (s *Service) Replays(ctx context.Context, offset, limit int) (list []Replay, total int64, err error) {
	jobs, err := s.registry.Replays(ctx, offset, limit)
	if err != nil {
		return nil, 0, err
	}
	list = make([]Replay, len(jobs))
	for i, job := range jobs {
		list[i] = replayOf(job)
	}
	total, err = s.registry.CountReplays(ctx)
	return list, total, err
}

// CancelReplay cancels a replay. Rows that it has stored remain. A queued replay is cancelled
// immediately. A running one stops within seconds or, if it has a write in progress, when the
// stores that the write needs are available again. It returns fault.Conflict if the replay has
// ended.
func (s *Service) CancelReplay(ctx context.Context, id uuid.UUID) (Replay, error) {
	job, err := s.registry.CancelReplay(ctx, id)
	return replayOf(job), err
}

func (s *Service) plan(ctx context.Context, r ReplayRequest) (jobs.Replay, error) {
	if err := r.check(time.Now()); err != nil {
		return jobs.Replay{}, err
	}
	if err := s.checkWorkspace(ctx, r.Workspace); err != nil {
		return jobs.Replay{}, err
	}
	topic, err := s.topic(ctx, r.Topic)
	if err != nil {
		return jobs.Replay{}, err
	}
	ranges, err := s.resolveRanges(ctx, r, topic)
	if err != nil {
		return jobs.Replay{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return jobs.Replay{}, fmt.Errorf("creating an id: %w", err)
	}
	return jobs.Replay{
		ID: id, Consumer: replayable[r.Topic].consumer, Topic: r.Topic, TopicID: topic.ID, Workspace: r.Workspace,
		State: jobs.ReplayQueued, RequestedBy: r.RequestedBy, MaxRows: r.MaxRows, Partitions: ranges,
	}, nil
}

// check validates what can be validated without reading the log.
func (r *ReplayRequest) check(now time.Time) error {
	invalid := func(field, format string, args ...any) error {
		return fault.Field(fault.Invalid, field, fmt.Sprintf(format, args...))
	}
	entry, ok := replayable[r.Topic]
	switch {
	case !ok:
		return fault.Field(
			fault.Invalid, "topic", fmt.Sprintf("%q is not a topic that can be replayed; there is %s",
				r.Topic, strings.Join(ReplayableTopics(), ", ")), ReplayableTopics()...,
		)
	case entry.consumer == "":
		return invalid("topic", "%s %s", r.Topic, entry.reason)
	}
	starts := 0
	for _, set := range []bool{r.FromStart, r.FromTime != nil, len(r.FromOffsets) > 0} {
		if set {
			starts++
		}
	}
	switch {
	case starts != 1:
		return invalid("fromStart", "exactly one of the start, a time, or offsets is required")
	case r.ToTime != nil && len(r.ToOffsets) > 0:
		return invalid("toTime", "set the end by a time or by offsets, not by both")
	case r.FromTime != nil && r.FromTime.After(now):
		return invalid("fromTime", "%s is in the future", r.FromTime.UTC().Format(time.RFC3339))
	case r.FromTime != nil && r.ToTime != nil && !r.FromTime.Before(*r.ToTime):
		return invalid("toTime", "must be after fromTime")
	case r.MaxRows != nil && *r.MaxRows <= 0:
		return invalid("maxRowsPerSecond", "must be above zero")
	case len(r.FromOffsets) > 0 && len(r.Partitions) > 0:
		return invalid("partitions", "must be empty: fromOffsets names the partitions already")
	}
	return nil
}

// resolveRanges returns the offsets to read, within the current bounds of the log.
func (s *Service) resolveRanges(
	ctx context.Context, r ReplayRequest, topic kafka.Overview,
) ([]jobs.ReplayPartition, error) {
	chosen, err := r.choosePartitions(topic)
	if err != nil {
		return nil, err
	}
	fromTime, err := s.offsetsAt(ctx, topic.Name, r.FromTime)
	if err != nil {
		return nil, err
	}
	toTime, err := s.offsetsAt(ctx, topic.Name, r.ToTime)
	if err != nil {
		return nil, err
	}
	var ranges []jobs.ReplayPartition
	for _, p := range topic.Partitions {
		if !slices.Contains(chosen, p.Partition) {
			continue
		}
		from, to := p.Start, p.End
		if at, ok := fromTime[p.Partition]; ok {
			from = max(from, at)
		}
		if at, ok := r.FromOffsets[p.Partition]; ok {
			if err := checkOffset("fromOffsets", p, at); err != nil {
				return nil, err
			}
			from = at
		}
		if at, ok := toTime[p.Partition]; ok {
			to = min(to, at)
		}
		if at, ok := r.ToOffsets[p.Partition]; ok {
			if err := checkOffset("toOffsets", p, at); err != nil {
				return nil, err
			}
			to = at
		}
		if from < to {
			ranges = append(ranges, jobs.ReplayPartition{Partition: p.Partition, From: from, To: to, Next: from})
		}
	}
	if len(ranges) == 0 {
		return nil, fault.Newf(fault.Invalid, "topic %s has no record in this range", r.Topic)
	}
	return ranges, nil
}

// choosePartitions returns the partitions to read. It returns an error if one does not exist.
func (r *ReplayRequest) choosePartitions(topic kafka.Overview) ([]int32, error) {
	count := int32(len(topic.Partitions))
	check := func(field string, partitions []int32) error {
		for _, p := range partitions {
			if p < 0 || p >= count {
				return fault.Field(fault.Invalid, field, fmt.Sprintf(
					"there is no partition %d; topic %s has 0 to %d", p, r.Topic, count-1,
				))
			}
		}
		return nil
	}
	from, to := slices.Sorted(maps.Keys(r.FromOffsets)), slices.Sorted(maps.Keys(r.ToOffsets))
	for field, partitions := range map[string][]int32{"fromOffsets": from, "toOffsets": to, "partitions": r.Partitions} {
		if err := check(field, partitions); err != nil {
			return nil, err
		}
	}
	chosen := r.Partitions
	switch {
	case len(from) > 0:
		chosen = from
	case len(chosen) == 0:
		for p := range count {
			chosen = append(chosen, p)
		}
	}
	for _, p := range to {
		if !slices.Contains(chosen, p) {
			return nil, fault.Field(
				fault.Invalid, "toOffsets", fmt.Sprintf("partition %d is not among those that are read", p),
			)
		}
	}
	return chosen, nil
}

// checkOffset returns an error if a partition does not have the offset.
func checkOffset(field string, p kafka.PartitionOverview, at int64) error {
	if at >= p.Start && at <= p.End {
		return nil
	}
	return fault.Field(fault.Invalid, field, fmt.Sprintf(
		"partition %d has the offsets %d to %d, not %d", p.Partition, p.Start, p.End, at,
	))
}

func (s *Service) offsetsAt(ctx context.Context, topic string, at *time.Time) (map[int32]int64, error) {
	if at == nil {
		return nil, nil
	}
	return s.log.OffsetsAt(ctx, topic, *at)
}
