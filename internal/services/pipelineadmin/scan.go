package pipelineadmin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// RemainingRange is a range of a dead-letter partition that remains to be scanned: the offsets from From to
// To, exclusive.
type RemainingRange struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
}

// errTimeUp stops a scan before its end.
var errTimeUp = errors.New("the time of this request is up")

// scanOptions are the options of a scan.
type scanOptions struct {
	filter   DeadLetterFilter
	resume   []RemainingRange // ranges that remain of an earlier scan; nil: start a new scan
	progress func(Scan)       // may be nil
	stop     func() bool      // called after each batch; true ends the scan; may be nil
}

// letterHandler handles dead letters of one topic. It calls done with those that it has handled,
// in order, so that a resumed scan does not return them again. It stops the scan by returning
// errTimeUp.
type letterHandler func(t kafka.Overview, letters []letterRecord, done func([]letterRecord)) error

// scan reads dead letters, the oldest of each partition first, and calls handle with those that
// match, in batches of one topic. It returns the ranges that remain.
func (s *Service) scan(
	ctx context.Context, o scanOptions, handle letterHandler,
) (sum Scan, remaining []RemainingRange, err error) {
	if o.progress == nil {
		o.progress = func(Scan) {}
	}
	topics, err := s.selectTopics(ctx, o.filter)
	if err != nil {
		return sum, nil, err
	}
	spans := make([]map[int32]kafka.Span, len(topics))
	for i, t := range topics {
		if o.resume != nil {
			spans[i] = remainingSpans(o.resume, t, &sum)
		} else if spans[i], err = s.scanSpans(ctx, o.filter, t, MaxScan/int64(len(topics)), &sum); err != nil {
			return sum, nil, err
		}
	}
	for i, t := range topics {
		err := s.readSpans(ctx, t, maps.Clone(spans[i]), func(records []*kgo.Record) error {
			err := s.handleRecords(ctx, o.filter, t, records, spans[i], &sum, handle)
			o.progress(sum)
			if err == nil && o.stop != nil && o.stop() {
				err = errTimeUp
			}
			return err
		})
		if errors.Is(err, errTimeUp) {
			return sum, remainingRanges(topics[i:], spans[i:]), nil
		}
		if err != nil {
			return sum, nil, err
		}
	}
	return sum, nil, nil
}

// handleRecords calls handle with the records that match and advances the start of each remaining
// span past the records that are done.
func (s *Service) handleRecords(
	ctx context.Context, f DeadLetterFilter, t kafka.Overview, records []*kgo.Record, remaining map[int32]kafka.Span,
	sum *Scan, handle letterHandler,
) error {
	matched, err := s.match(ctx, f, t, records)
	if err != nil {
		return err
	}
	advance := func(partition int32, offset int64) {
		remaining[partition] = kafka.Span{From: offset + 1, To: remaining[partition].To}
	}
	handled := int64(0)
	if len(matched) > 0 {
		err = handle(t, matched, func(letters []letterRecord) {
			for _, l := range letters {
				advance(l.Partition, l.Offset)
			}
			handled += int64(len(letters))
		})
	}
	if err != nil {
		sum.Scanned += handled
		sum.Matched += handled
		return err
	}
	for _, r := range records {
		advance(r.Partition, r.Offset)
	}
	sum.Scanned += int64(len(records))
	sum.Matched += int64(len(matched))
	return nil
}

// remainingSpans returns the remaining spans of a topic, within the current bounds of the log.
func remainingSpans(ranges []RemainingRange, t kafka.Overview, sum *Scan) map[int32]kafka.Span {
	spans := map[int32]kafka.Span{}
	for _, r := range ranges {
		if r.Topic != t.Label || r.Partition < 0 || int(r.Partition) >= len(t.Partitions) {
			continue
		}
		p := t.Partitions[r.Partition]
		if span := (kafka.Span{From: max(r.From, p.Start), To: min(r.To, p.End)}); span.From < span.To {
			spans[r.Partition] = span
			sum.Total += span.To - span.From
		}
	}
	return spans
}

func remainingRanges(topics []kafka.Overview, spans []map[int32]kafka.Span) (remaining []RemainingRange) {
	for i, t := range topics {
		for _, p := range slices.Sorted(maps.Keys(spans[i])) {
			if span := spans[i][p]; span.From < span.To {
				remaining = append(remaining, RemainingRange{Topic: t.Label, Partition: p, From: span.From, To: span.To})
			}
		}
	}
	return remaining
}

// action redrives or discards a batch of dead letters of one topic.
type action func(context.Context, DeadLetterRequest, kafka.Overview, []letterRecord) ([]DeadLetterOutcome, error)

// process runs an action on the dead letters of a request, in batches.
func (s *Service) process(
	ctx context.Context, r DeadLetterRequest, progress func(DeadLetterResult), do action,
) (DeadLetterResult, error) {
	result := DeadLetterResult{Outcomes: []DeadLetterOutcome{}, Counts: map[Outcome]int64{}}
	if progress == nil {
		progress = func(DeadLetterResult) {}
	}
	if len(r.Reason) > MaxReason {
		return result, fault.Field(fault.Invalid, "reason", fmt.Sprintf("must not be longer than %d bytes", MaxReason))
	}
	bulk := &bulkAction{service: s, request: r, do: do, result: &result, deadline: time.Now().Add(r.TimeBudget)}
	if len(r.Records) > 0 {
		bulk.request.TimeBudget = 0
		err := bulk.runRecords(ctx)
		return result, err
	}
	f := r.Filter
	if len(f.States) == 0 && !r.Again {
		f.States = []jobs.DeadLetterState{jobs.DeadLetterOpen}
	}
	o := scanOptions{filter: f, resume: r.Remaining, stop: bulk.timeUp, progress: func(scanned Scan) {
		result.Scan = scanned
		progress(result)
	}}
	var err error
	result.Scan, result.Remaining, err = s.scan(ctx, o, func(
		t kafka.Overview, letters []letterRecord, done func([]letterRecord),
	) error {
		return bulk.run(ctx, t, letters, done)
	})
	return result, err
}

// bulkAction runs an action on many dead letters and collects the outcomes.
type bulkAction struct {
	service  *Service
	request  DeadLetterRequest
	do       action
	result   *DeadLetterResult
	deadline time.Time
	started  bool // a batch is complete
}

// timeUp reports whether no further batch may be started.
func (b *bulkAction) timeUp() bool { return b.request.TimeBudget > 0 && !time.Now().Before(b.deadline) }

// runRecords runs the action on the dead letters at the request's Places.
func (b *bulkAction) runRecords(ctx context.Context) error {
	for _, ref := range b.request.Records {
		t, l, err := b.service.readLetter(ctx, ref)
		if err == nil {
			err = b.run(ctx, t, []letterRecord{l}, func([]letterRecord) {})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs the action on dead letters of one topic, in batches of batchBytes.
func (b *bulkAction) run(
	ctx context.Context, t kafka.Overview, letters []letterRecord, done func([]letterRecord),
) error {
	for len(letters) > 0 {
		if b.started && b.timeUp() {
			return errTimeUp
		}
		n, bytes := 0, 0
		for n < len(letters) && (n == 0 || bytes+letters[n].Bytes <= batchBytes) {
			bytes += letters[n].Bytes
			n++
		}
		outcomes, err := b.do(ctx, b.request, t, letters[:n])
		if err != nil && b.started && b.timeUp() && fault.Is(err, fault.Unavailable) {
			return errTimeUp // the consumer lags: the next request waits for it
		}
		b.addOutcomes(outcomes)
		if err != nil {
			return err
		}
		b.started = true
		done(letters[:n])
		letters = letters[n:]
	}
	return nil
}

func (b *bulkAction) addOutcomes(outcomes []DeadLetterOutcome) {
	for _, o := range outcomes {
		b.result.Counts[o.Outcome]++
		if len(b.result.Outcomes) < maxOutcomes {
			b.result.Outcomes = append(b.result.Outcomes, o)
		}
	}
}
