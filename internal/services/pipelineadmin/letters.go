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

// Bounds of a look at dead letters.
const (
	DefaultLetters = 50   // that a list has
	MaxLetters     = 1000 // and the most that it can have
	// MaxScan is how many letters, the newest, are looked at in all. Each topic's share
	// is the same.
	MaxScan = 1_000_000

	scanFetchBytes = 16 << 20
	scanRecords    = 500
)

// Place is where a record is. Topic is without the prefix.
type Place struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// String returns topic/partition/offset.
func (p Place) String() string { return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset) }

func (p Place) position() jobs.LogPosition {
	return jobs.LogPosition{Partition: p.Partition, Offset: p.Offset}
}

// ParsePlace reads topic/partition/offset.
func ParsePlace(text string) (Place, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 && parts[0] != "" {
		partition, err1 := strconv.ParseInt(parts[1], 10, 32)
		offset, err2 := strconv.ParseInt(parts[2], 10, 64)
		if err1 == nil && err2 == nil && partition >= 0 && offset >= 0 {
			return Place{Topic: parts[0], Partition: int32(partition), Offset: offset}, nil
		}
	}
	return Place{}, fmt.Errorf("%q is not TOPIC/PARTITION/OFFSET, such as points.dlq/3/17", text)
}

// Letter is a dead letter.
type Letter struct {
	Place
	At        time.Time        `json:"at"`     // when it was put aside
	Origin    *Place           `json:"origin"` // where the record stood; nil: it does not say
	Reason    string           `json:"reason"`
	RequestID string           `json:"requestId"`
	Version   uint64           `json:"version,string,omitempty"` // that its points would have had
	Bytes     int              `json:"bytes"`                    // of key and value
	Workspace *uuid.UUID       `json:"workspaceId"`              // nil: it cannot be read
	Holds     string           `json:"holds"`                    // what is in it, in words
	State     jobs.LetterState `json:"state"`
	Mark      *jobs.LetterMark `json:"mark"` // nil: it is open
}

// LetterFilter chooses dead letters. What is empty chooses all.
type LetterFilter struct {
	// Topics are those of dead letters, or those that they come from.
	Topics         []string           `json:"topics"`
	Workspace      *uuid.UUID         `json:"workspaceId"`
	From           *time.Time         `json:"from"` // when they were put aside
	To             *time.Time         `json:"to"`   // exclusive
	ReasonContains string             `json:"reasonContains"`
	States         []jobs.LetterState `json:"states"`
}

// Scan is how far a look at dead letters is.
type Scan struct {
	Scanned int64 `json:"scanned"`
	Total   int64 `json:"total"`
	Skipped int64 `json:"skipped"` // older ones that are not looked at
	Matched int64 `json:"matched"`
}

// LetterList are the newest letters that were asked for, newest first.
type LetterList struct {
	Letters []Letter `json:"letters"`
	Scan
}

// Letters lists the newest letters of a filter. Progress, which may be nil, is told
// now and then.
func (d *Service) Letters(ctx context.Context, f LetterFilter, limit int, progress func(Scan)) (LetterList, error) {
	if limit < 1 || limit > MaxLetters {
		return LetterList{}, fault.Field(fault.Invalid, "limit", fmt.Sprintf("must be from 1 to %d", MaxLetters))
	}
	list := LetterList{Letters: []Letter{}}
	newest := func(a, b Letter) int {
		return -slices.Compare([]int64{a.At.UnixMilli(), a.Offset, int64(a.Partition)}, []int64{
			b.At.UnixMilli(), b.Offset, int64(b.Partition),
		})
	}
	scan, _, err := d.scan(ctx, look{filter: f, progress: progress}, func(
		_ kafka.Overview, found []found, _ func([]found),
	) error {
		for _, one := range found {
			list.Letters = append(list.Letters, one.Letter)
		}
		if len(list.Letters) > 2*limit {
			slices.SortFunc(list.Letters, newest)
			list.Letters = slices.Clip(list.Letters[:limit])
		}
		return nil
	})
	if err != nil {
		return LetterList{}, err
	}
	slices.SortFunc(list.Letters, newest)
	list.Letters, list.Scan = list.Letters[:min(limit, len(list.Letters))], scan
	return list, nil
}

// found is a letter with its record.
type found struct {
	Letter
	record *kgo.Record
}

// letterTopics returns the topics of a filter.
func (d *Service) letterTopics(ctx context.Context, f LetterFilter) ([]kafka.Overview, error) {
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		return nil, fault.Field(fault.Invalid, "to", "must be after from")
	}
	for _, s := range f.States {
		if s != jobs.LetterOpen && s != jobs.LetterRedriven && s != jobs.LetterDiscarded {
			return nil, fault.Field(fault.Invalid, "states", fmt.Sprintf("%q is none of open, redriven, discarded", s))
		}
	}
	if err := d.knownWorkspace(ctx, f.Workspace); err != nil {
		return nil, err
	}
	labels := LetterTopics()
	if len(f.Topics) > 0 {
		var chosen []string
		for _, name := range f.Topics {
			label, err := d.letterLabel(name)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(chosen, label) {
				chosen = append(chosen, label)
			}
		}
		labels = chosen
	}
	return d.log.Overviews(ctx, labels...)
}

// LetterTopics are the topics of dead letters, without the prefix.
func LetterTopics() []string {
	return slices.DeleteFunc(kafka.Labels(), func(label string) bool {
		_, dead := kafka.IsDeadLetters(label)
		return !dead
	})
}

// letterLabel returns the topic of dead letters that a name means: its own, or that of
// the topic that they come from.
func (d *Service) letterLabel(name string) (string, error) {
	label := d.log.Label(name)
	if _, dead := kafka.IsDeadLetters(label); !dead {
		label = kafka.DeadLettersOf(label)
	}
	if !slices.Contains(LetterTopics(), label) {
		return "", fault.Field(
			fault.Invalid, "topic",
			fmt.Sprintf("%q is no topic of dead letters; there are %s", name, strings.Join(LetterTopics(), ", ")),
			LetterTopics()...,
		)
	}
	return label, nil
}

// letterSpans returns what is to be looked at of a topic: the newest so many of what is
// within the filter's times.
func (d *Service) letterSpans(
	ctx context.Context, f LetterFilter, t kafka.Overview, most int64, sum *Scan,
) (map[int32]kafka.Span, error) {
	from, err := d.offsetsAt(ctx, t.Name, f.From)
	if err != nil {
		return nil, err
	}
	to, err := d.offsetsAt(ctx, t.Name, f.To)
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
		if each := most / int64(len(t.Partitions)); span.To-span.From > each {
			sum.Skipped += span.To - span.From - each
			span.From = span.To - each
		}
		if span.From < span.To {
			spans[p.Partition] = span
			sum.Total += span.To - span.From
		}
	}
	return spans, nil
}

// readSpans reads ranges of a topic and hands the records on.
func (d *Service) readSpans(
	ctx context.Context, t kafka.Overview, spans map[int32]kafka.Span, take func([]*kgo.Record) error,
) error {
	reading, err := d.log.Assign(kafka.AssignOptions{
		Topic: t.Name, Name: "letters", Spans: spans, FetchBytes: scanFetchBytes,
	})
	if err != nil {
		return err
	}
	defer reading.Close()
	for {
		records, err := reading.Poll(ctx, scanRecords)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(records) == 0:
			continue
		}
		if err := take(records); err != nil {
			return err
		}
	}
}

// match returns the letters of a filter among records of a topic.
func (d *Service) match(ctx context.Context, f LetterFilter, t kafka.Overview, records []*kgo.Record) ([]found, error) {
	var matched []found
	var places []jobs.LogPosition
	for _, r := range records {
		one := found{Letter: d.letterOf(t.Label, r), record: r}
		if !f.chooses(&one.Letter) {
			continue
		}
		matched, places = append(matched, one), append(places, one.position())
	}
	marks, err := d.registry.LetterMarks(ctx, t.ID, places)
	if err != nil {
		return nil, err
	}
	for i := range matched {
		if mark, ok := marks[matched[i].position()]; ok {
			matched[i].State, matched[i].Mark = mark.State, &mark
		}
	}
	return slices.DeleteFunc(matched, func(one found) bool {
		return len(f.States) > 0 && !slices.Contains(f.States, one.State)
	}), nil
}

// chooses reports whether a letter is one of the filter's, its state aside.
func (f *LetterFilter) chooses(l *Letter) bool {
	return (f.Workspace == nil || l.Workspace != nil && *l.Workspace == *f.Workspace) &&
		(f.From == nil || !l.At.Before(*f.From)) && (f.To == nil || l.At.Before(*f.To)) &&
		strings.Contains(strings.ToLower(l.Reason), strings.ToLower(f.ReasonContains))
}

// letterOf reads a letter.
func (d *Service) letterOf(label string, r *kgo.Record) Letter {
	l := Letter{
		Place: Place{Topic: label, Partition: r.Partition, Offset: r.Offset}, At: timeOf(r.Timestamp.UnixMicro()),
		Reason: string(kafka.Header(r, kafka.HeaderError)), RequestID: string(kafka.Header(r, kafka.HeaderRequestID)),
		Bytes: len(r.Key) + len(r.Value), State: jobs.LetterOpen,
	}
	l.Version, _ = strconv.ParseUint(string(kafka.Header(r, kafka.HeaderVersion)), 10, 63)
	partition, err1 := strconv.ParseInt(string(kafka.Header(r, kafka.HeaderPartition)), 10, 32)
	offset, err2 := strconv.ParseInt(string(kafka.Header(r, kafka.HeaderOffset)), 10, 64)
	if err1 == nil && err2 == nil {
		l.Origin = &Place{
			Topic: d.log.Label(string(kafka.Header(r, kafka.HeaderTopic))), Partition: int32(partition), Offset: offset,
		}
	}
	c := contentOf(label, r.Value)
	l.Workspace, l.Holds = c.workspace(), c.summary()
	return l
}

// letter reads the letter at a place.
func (d *Service) letter(ctx context.Context, at Place) (kafka.Overview, found, error) {
	label, err := d.letterLabel(at.Topic)
	if err != nil {
		return kafka.Overview{}, found{}, err
	}
	t, err := d.topic(ctx, label)
	if err != nil {
		return kafka.Overview{}, found{}, err
	}
	at.Topic = label
	missing := fault.Newf(fault.NotFound, "there is no dead letter %s", at)
	if at.Partition < 0 || int(at.Partition) >= len(t.Partitions) {
		return t, found{}, missing
	}
	if p := t.Partitions[at.Partition]; at.Offset < p.Start || at.Offset >= p.End {
		if at.Offset >= 0 && at.Offset < p.Start {
			missing = fault.Newf(
				fault.NotFound, "dead letter %s is gone: the topic's retention has removed what is below offset %d", at, p.Start,
			)
		}
		return t, found{}, missing
	}
	var one []found
	err = d.readSpans(ctx, t, map[int32]kafka.Span{at.Partition: {
		From: at.Offset, To: at.Offset + 1,
	}}, func(records []*kgo.Record) (err error) {
		one, err = d.match(ctx, LetterFilter{}, t, records)
		return err
	})
	if err != nil {
		return t, found{}, err
	}
	if len(one) == 0 {
		return t, found{}, missing
	}
	return t, one[0], nil
}
