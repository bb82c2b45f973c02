package pipelineadmin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Limits of listing and scanning dead letters.
const (
	DefaultListLimit = 50   // default length of a list
	MaxListLimit     = 1000 // maximum length of a list
	// MaxScan is the maximum number of dead letters that are scanned, the newest first,
	// divided equally among the topics.
	MaxScan = 1_000_000

	scanFetchBytes = 16 << 20
	scanRecords    = 500
)

// RecordRef identifies a record. Topic is without the prefix.
type RecordRef struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// String returns topic/partition/offset.
func (p RecordRef) String() string { return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset) }

func (p RecordRef) position() jobs.LogPosition {
	return jobs.LogPosition{Partition: p.Partition, Offset: p.Offset}
}

// ParseRecordRef parses topic/partition/offset.
func ParseRecordRef(text string) (RecordRef, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 && parts[0] != "" {
		partition, err1 := strconv.ParseInt(parts[1], 10, 32)
		offset, err2 := strconv.ParseInt(parts[2], 10, 64)
		if err1 == nil && err2 == nil && partition >= 0 && offset >= 0 {
			return RecordRef{Topic: parts[0], Partition: int32(partition), Offset: offset}, nil
		}
	}
	return RecordRef{}, fmt.Errorf("%q is not TOPIC/PARTITION/OFFSET, such as points.dlq/3/17", text)
}

// DeadLetter is a dead letter.
type DeadLetter struct {
	RecordRef
	At        time.Time            `json:"at"`     // when it was dead-lettered
	Origin    *RecordRef           `json:"origin"` // the original record; nil: unknown
	Reason    string               `json:"reason"`
	RequestID string               `json:"requestId"`
	Version   uint64               `json:"version,string,omitempty"` // version of its points
	Bytes     int                  `json:"bytes"`                    // of key and value
	Workspace *uuid.UUID           `json:"workspaceId"`              // nil: unreadable
	Summary   string               `json:"holds"`                    // summary of the content
	State     jobs.DeadLetterState `json:"state"`
	Mark      *jobs.DeadLetterMark `json:"mark"` // nil: open
}

// DeadLetterFilter selects dead letters. An empty field selects all.
type DeadLetterFilter struct {
	// Topics are dead-letter topics or their original topics.
	Topics         []string               `json:"topics"`
	Workspace      *uuid.UUID             `json:"workspaceId"`
	From           *time.Time             `json:"from"` // when they were dead-lettered
	To             *time.Time             `json:"to"`   // exclusive
	ReasonContains string                 `json:"reasonContains"`
	States         []jobs.DeadLetterState `json:"states"`
}

// Scan is the progress of a scan of dead letters.
type Scan struct {
	Scanned int64 `json:"scanned"`
	Total   int64 `json:"total"`
	Skipped int64 `json:"skipped"` // older than the newest MaxScan; not scanned
	Matched int64 `json:"matched"`
}

// DeadLetterList is a list of dead letters, newest first, and the progress of its scan.
type DeadLetterList struct {
	Letters []DeadLetter `json:"letters"`
	Scan
}

// DeadLetters lists the newest dead letters that match the filter. It calls progress, which may be
// nil, after each batch of records.
func (s *Service) DeadLetters(
	ctx context.Context, f DeadLetterFilter, limit int, progress func(Scan),
) (DeadLetterList, error) {
	if limit < 1 || limit > MaxListLimit {
		return DeadLetterList{}, fault.Field(fault.Invalid, "limit", fmt.Sprintf("must be from 1 to %d", MaxListLimit))
	}
	list := DeadLetterList{Letters: []DeadLetter{}}
	newestFirst := func(a, b DeadLetter) int {
		return -slices.Compare([]int64{a.At.UnixMilli(), a.Offset, int64(a.Partition)}, []int64{
			b.At.UnixMilli(), b.Offset, int64(b.Partition),
		})
	}
	scan, _, err := s.scan(ctx, scanOptions{filter: f, progress: progress}, func(
		_ kafka.Overview, letters []letterRecord, _ func([]letterRecord),
	) error {
		for _, l := range letters {
			list.Letters = append(list.Letters, l.DeadLetter)
		}
		if len(list.Letters) > 2*limit {
			slices.SortFunc(list.Letters, newestFirst)
			list.Letters = slices.Clip(list.Letters[:limit])
		}
		return nil
	})
	if err != nil {
		return DeadLetterList{}, err
	}
	slices.SortFunc(list.Letters, newestFirst)
	list.Letters, list.Scan = list.Letters[:min(limit, len(list.Letters))], scan
	return list, nil
}

// letterRecord is a dead letter with its record.
type letterRecord struct {
	DeadLetter
	record *kgo.Record
}

// selectTopics validates a filter and returns its topics.
func (s *Service) selectTopics(ctx context.Context, f DeadLetterFilter) ([]kafka.Overview, error) {
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		return nil, fault.Field(fault.Invalid, "to", "must be after from")
	}
	for _, state := range f.States {
		if state != jobs.DeadLetterOpen && state != jobs.DeadLetterRedriven && state != jobs.DeadLetterDiscarded {
			return nil, fault.Field(fault.Invalid, "states", fmt.Sprintf("%q is none of open, redriven, discarded", state))
		}
	}
	if err := s.checkWorkspace(ctx, f.Workspace); err != nil {
		return nil, err
	}
	labels := DeadLetterTopics()
	if len(f.Topics) > 0 {
		var chosen []string
		for _, name := range f.Topics {
			label, err := s.deadLetterTopic(name)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(chosen, label) {
				chosen = append(chosen, label)
			}
		}
		labels = chosen
	}
	return s.log.Overviews(ctx, labels...)
}

// DeadLetterTopics returns the dead-letter topics, without the prefix.
func DeadLetterTopics() []string {
	return slices.DeleteFunc(kafka.Labels(), func(label string) bool {
		_, dead := kafka.IsDeadLetters(label)
		return !dead
	})
}

// deadLetterTopic returns the dead-letter topic for a name, which is that of a dead-letter
// topic or of its original topic.
func (s *Service) deadLetterTopic(name string) (string, error) {
	label := s.log.Label(name)
	if _, dead := kafka.IsDeadLetters(label); !dead {
		label = kafka.DeadLetterTopic(label)
	}
	if !slices.Contains(DeadLetterTopics(), label) {
		return "", fault.Field(
			fault.Invalid, "topic",
			fmt.Sprintf("%q is not a dead-letter topic; the topics are %s", name, strings.Join(DeadLetterTopics(), ", ")),
			DeadLetterTopics()...,
		)
	}
	return label, nil
}

// scanSpans returns the offsets of a topic to scan: the newest maxRecords, divided equally among
// the partitions, of those within the filter's times.
func (s *Service) scanSpans(
	ctx context.Context, f DeadLetterFilter, t kafka.Overview, maxRecords int64, sum *Scan,
) (map[int32]kafka.Span, error) {
	from, err := s.offsetsAt(ctx, t.Name, f.From)
	if err != nil {
		return nil, err
	}
	to, err := s.offsetsAt(ctx, t.Name, f.To)
	if err != nil {
		return nil, err
	}
	spans := map[int32]kafka.Span{}
	for _, p := range t.Partitions {
		span := kafka.Span{From: p.Start, To: p.End}
		if at, ok := from[p.Partition]; ok {
			span.From = max(span.From, at)
		}
		if at, ok := to[p.Partition]; ok {
			span.To = min(span.To, at)
		}
		if limit := maxRecords / int64(len(t.Partitions)); span.To-span.From > limit {
			sum.Skipped += span.To - span.From - limit
			span.From = span.To - limit
		}
		if span.From < span.To {
			spans[p.Partition] = span
			sum.Total += span.To - span.From
		}
	}
	return spans, nil
}

// readSpans reads ranges of a topic and calls handle with each batch of records.
func (s *Service) readSpans(
	ctx context.Context, t kafka.Overview, spans map[int32]kafka.Span, handle func([]*kgo.Record) error,
) error {
	reader, err := s.log.Assign(kafka.AssignOptions{
		Topic: t.Name, Name: "letters", Spans: spans, FetchBytes: scanFetchBytes,
	})
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		records, err := reader.Poll(ctx, scanRecords)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(records) == 0:
			continue
		}
		if err := handle(records); err != nil {
			return err
		}
	}
}

// match returns the records of a topic that match the filter, with their marks.
func (s *Service) match(
	ctx context.Context, f DeadLetterFilter, t kafka.Overview, records []*kgo.Record,
) ([]letterRecord, error) {
	var matched []letterRecord
	var positions []jobs.LogPosition
	for _, r := range records {
		l := letterRecord{DeadLetter: s.decodeLetter(t.Label, r), record: r}
		if !f.matches(&l.DeadLetter) {
			continue
		}
		matched, positions = append(matched, l), append(positions, l.position())
	}
	marks, err := s.registry.DeadLetterMarks(ctx, t.ID, positions)
	if err != nil {
		return nil, err
	}
	for i := range matched {
		if mark, ok := marks[matched[i].position()]; ok {
			matched[i].State, matched[i].Mark = mark.State, &mark
		}
	}
	return slices.DeleteFunc(matched, func(l letterRecord) bool {
		return len(f.States) > 0 && !slices.Contains(f.States, l.State)
	}), nil
}

// matches reports whether a dead letter matches the filter, except for States.
func (f *DeadLetterFilter) matches(l *DeadLetter) bool {
	return (f.Workspace == nil || l.Workspace != nil && *l.Workspace == *f.Workspace) &&
		(f.From == nil || !l.At.Before(*f.From)) && (f.To == nil || l.At.Before(*f.To)) &&
		strings.Contains(strings.ToLower(l.Reason), strings.ToLower(f.ReasonContains))
}

// decodeLetter decodes a record of a dead-letter topic.
func (s *Service) decodeLetter(label string, r *kgo.Record) DeadLetter {
	l := DeadLetter{
		RecordRef: RecordRef{Topic: label, Partition: r.Partition, Offset: r.Offset}, At: timeOf(r.Timestamp.UnixMicro()),
		Reason: string(kafka.Header(r, kafka.HeaderError)), RequestID: string(kafka.Header(r, kafka.HeaderRequestID)),
		Bytes: len(r.Key) + len(r.Value), State: jobs.DeadLetterOpen,
	}
	l.Version, _ = strconv.ParseUint(string(kafka.Header(r, kafka.HeaderVersion)), 10, 63)
	partition, err1 := strconv.ParseInt(string(kafka.Header(r, kafka.HeaderPartition)), 10, 32)
	offset, err2 := strconv.ParseInt(string(kafka.Header(r, kafka.HeaderOffset)), 10, 64)
	if err1 == nil && err2 == nil {
		l.Origin = &RecordRef{
			Topic: s.log.Label(string(kafka.Header(r, kafka.HeaderTopic))), Partition: int32(partition), Offset: offset,
		}
	}
	c := contentOf(label, r.Value)
	l.Workspace, l.Summary = c.workspace(), c.summary()
	return l
}

// readLetter reads a dead letter and its mark. It returns fault.NotFound if it does not exist.
func (s *Service) readLetter(ctx context.Context, ref RecordRef) (kafka.Overview, letterRecord, error) {
	label, err := s.deadLetterTopic(ref.Topic)
	if err != nil {
		return kafka.Overview{}, letterRecord{}, err
	}
	t, err := s.topic(ctx, label)
	if err != nil {
		return kafka.Overview{}, letterRecord{}, err
	}
	ref.Topic = label
	missing := fault.Newf(fault.NotFound, "there is no dead letter %s", ref)
	if ref.Partition < 0 || int(ref.Partition) >= len(t.Partitions) {
		return t, letterRecord{}, missing
	}
	if p := t.Partitions[ref.Partition]; ref.Offset < p.Start || ref.Offset >= p.End {
		if ref.Offset >= 0 && ref.Offset < p.Start {
			missing = fault.Newf(
				fault.NotFound, "dead letter %s no longer exists: the topic's retention has removed the records below offset %d",
				ref, p.Start,
			)
		}
		return t, letterRecord{}, missing
	}
	var found []letterRecord
	err = s.readSpans(ctx, t, map[int32]kafka.Span{ref.Partition: {
		From: ref.Offset, To: ref.Offset + 1,
	}}, func(records []*kgo.Record) (err error) {
		found, err = s.match(ctx, DeadLetterFilter{}, t, records)
		return err
	})
	if err != nil {
		return t, letterRecord{}, err
	}
	if len(found) == 0 {
		return t, letterRecord{}, missing
	}
	return t, found[0], nil
}
