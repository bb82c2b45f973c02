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

// ReplayRequest says what to read once more. One of FromStart, FromTime and
// FromOffsets says from where; without ToTime and ToOffsets it is read to where the
// log ends now. Times are those at which records were produced.
type ReplayRequest struct {
	Topic       string          `json:"topic"`
	FromStart   bool            `json:"fromStart"`
	FromTime    *time.Time      `json:"fromTime"`
	FromOffsets map[int32]int64 `json:"fromOffsets"` // of the partitions that are read
	ToTime      *time.Time      `json:"toTime"`      // exclusive
	ToOffsets   map[int32]int64 `json:"toOffsets"`   // exclusive; of others: to the end
	Partitions  []int32         `json:"partitions"`  // none: all
	Workspace   *uuid.UUID      `json:"workspaceId"` // nil: all
	MaxRows     *int64          `json:"maxRowsPerSecond"`
	By          string          `json:"-"` // who asks
}

// replayable says which consumer replays a topic, and why others have none.
var replayable = map[string]struct{ consumer, reason string }{
	kafka.TopicPoints: {consumer: "points"},
	kafka.TopicCommands: {
		reason: "cannot be replayed: every command was decided once, when it came, and a record that is read again " +
			"is known to be decided and changes nothing. What commands did is in the history (GET /api/queries/history) " +
			"and in `livegraph export`",
	},
	kafka.TopicEvents: {
		reason: "cannot be replayed: this version has no built-in consumer of it. A consumer of your own is replayed by " +
			"its own offsets (schemas/topics.md)",
	},
	kafka.TopicAudit: {
		reason: "cannot be replayed: its records are stored once, and nothing is computed from them that could be wrong",
	},
}

// ReplayableTopics are the topics that have a consumer that can be replayed.
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

// Replay is a replay as it is, with its sums.
type Replay struct {
	jobs.Replay
	Records     int64    `json:"records"`     // of its range
	RecordsDone int64    `json:"recordsDone"` // trimmed ones included
	Trimmed     int64    `json:"trimmed"`     // that the log had no more
	Percent     float64  `json:"percent"`
	ETASeconds  *float64 `json:"etaSeconds"` // nil: not known
	Notes       []string `json:"notes"`      // what there is to know of how it went
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
			r.Notes, "gone from the range before they were read, by the topic's retention: "+plural.Count(r.Trimmed, "record"),
		)
	}
	if job.Refused > 0 {
		r.Notes = append(
			r.Notes,
			"left out, because unreadable or not storable: "+plural.Count(job.Refused, "record")+
				"; `livegraph dlq list` has them from when they were first consumed",
		)
	}
	if job.State == jobs.ReplayQueued {
		r.Notes = append(r.Notes, "it waits for a process with the role "+job.Consumer)
	}
	return r
}

// PlanReplay reports what a replay would read, without asking for it.
func (d *Service) PlanReplay(ctx context.Context, r ReplayRequest) (Replay, error) {
	job, err := d.plan(ctx, r)
	return replayOf(job), err
}

// StartReplay queues a replay. A process that has the consumer takes it up within
// seconds.
func (d *Service) StartReplay(ctx context.Context, r ReplayRequest) (Replay, error) {
	job, err := d.plan(ctx, r)
	if err == nil {
		job, err = d.registry.CreateReplay(ctx, job)
	}
	return replayOf(job), err
}

// Replay returns one job; fault.NotFound if there is none of the id.
func (d *Service) Replay(ctx context.Context, id uuid.UUID) (Replay, error) {
	job, err := d.registry.Replay(ctx, id)
	return replayOf(job), err
}

// Replays lists jobs, newest first: so many, after so many newer ones. It also gives
// how many there are in all.
func (d *Service) Replays(ctx context.Context, offset, limit int) (list []Replay, total int64, err error) {
	jobs, err := d.registry.Replays(ctx, offset, limit)
	if err != nil {
		return nil, 0, err
	}
	list = make([]Replay, len(jobs))
	for i, job := range jobs {
		list[i] = replayOf(job)
	}
	total, err = d.registry.CountReplays(ctx)
	return list, total, err
}

// CancelReplay asks a job to end: what it has stored stays. One that no process has taken
// up is cancelled at once, another within seconds, or when the stores are back that it needs
// for what it had begun to store. One that is over is fault.Conflict.
func (d *Service) CancelReplay(ctx context.Context, id uuid.UUID) (Replay, error) {
	job, err := d.registry.CancelReplay(ctx, id)
	return replayOf(job), err
}

func (d *Service) plan(ctx context.Context, r ReplayRequest) (jobs.Replay, error) {
	if err := r.check(time.Now()); err != nil {
		return jobs.Replay{}, err
	}
	if err := d.knownWorkspace(ctx, r.Workspace); err != nil {
		return jobs.Replay{}, err
	}
	topic, err := d.topic(ctx, r.Topic)
	if err != nil {
		return jobs.Replay{}, err
	}
	ranges, err := d.ranges(ctx, r, topic)
	if err != nil {
		return jobs.Replay{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return jobs.Replay{}, fmt.Errorf("making an id: %w", err)
	}
	return jobs.Replay{
		ID: id, Consumer: replayable[r.Topic].consumer, Topic: r.Topic, TopicID: topic.ID, Workspace: r.Workspace,
		State: jobs.ReplayQueued, RequestedBy: r.By, MaxRows: r.MaxRows, Partitions: ranges,
	}, nil
}

// check refuses what needs no look at the log.
func (r *ReplayRequest) check(now time.Time) error {
	bad := func(field, format string, args ...any) error {
		return fault.Field(fault.Invalid, field, fmt.Sprintf(format, args...))
	}
	known, ours := replayable[r.Topic]
	switch {
	case !ours:
		return fault.Field(
			fault.Invalid, "topic", fmt.Sprintf("%q is no topic with a consumer that can be replayed; there is %s",
				r.Topic, strings.Join(ReplayableTopics(), ", ")), ReplayableTopics()...,
		)
	case known.consumer == "":
		return bad("topic", "%s %s", r.Topic, known.reason)
	}
	given := 0
	for _, is := range []bool{r.FromStart, r.FromTime != nil, len(r.FromOffsets) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return bad("fromStart", "say from where: one of the start, a time, or offsets")
	case r.ToTime != nil && len(r.ToOffsets) > 0:
		return bad("toTime", "say to where by a time or by offsets, not by both")
	case r.FromTime != nil && r.FromTime.After(now):
		return bad("fromTime", "%s is in the future", r.FromTime.UTC().Format(time.RFC3339))
	case r.FromTime != nil && r.ToTime != nil && !r.FromTime.Before(*r.ToTime):
		return bad("toTime", "must be after fromTime")
	case r.MaxRows != nil && *r.MaxRows <= 0:
		return bad("maxRowsPerSecond", "must be above zero")
	case len(r.FromOffsets) > 0 && len(r.Partitions) > 0:
		return bad("partitions", "fromOffsets names the partitions already")
	}
	return nil
}

// ranges resolves what is asked for against the log as it is.
func (d *Service) ranges(ctx context.Context, r ReplayRequest, topic kafka.Overview) ([]jobs.ReplayPartition, error) {
	chosen, err := r.choose(topic)
	if err != nil {
		return nil, err
	}
	fromTime, err := d.offsetsAt(ctx, topic.Name, r.FromTime)
	if err != nil {
		return nil, err
	}
	toTime, err := d.offsetsAt(ctx, topic.Name, r.ToTime)
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
			if err := within("fromOffsets", p, at); err != nil {
				return nil, err
			}
			from = at
		}
		if at, ok := toTime[p.Partition]; ok {
			to = min(to, at)
		}
		if at, ok := r.ToOffsets[p.Partition]; ok {
			if err := within("toOffsets", p, at); err != nil {
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

// choose returns the partitions that are meant, all of which must be there.
func (r *ReplayRequest) choose(topic kafka.Overview) ([]int32, error) {
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
			return nil, fault.Field(fault.Invalid, "toOffsets", fmt.Sprintf("partition %d is not among those that are read", p))
		}
	}
	return chosen, nil
}

// within refuses an offset that a partition does not have.
func within(field string, p kafka.PartitionOverview, at int64) error {
	if at >= p.Start && at <= p.End {
		return nil
	}
	return fault.Field(fault.Invalid, field, fmt.Sprintf(
		"partition %d has the offsets %d to %d, and %d is not among them", p.Partition, p.Start, p.End, at,
	))
}

func (d *Service) offsetsAt(ctx context.Context, topic string, at *time.Time) (map[int32]int64, error) {
	if at == nil {
		return nil, nil
	}
	return d.log.OffsetsAt(ctx, topic, *at)
}
