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

// Rest is what is left to be looked at of a partition of dead letters: the offsets from
// From to before To.
type Rest struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
}

// errEnough ends a look at letters before its end.
var errEnough = errors.New("the time of this request is up")

// look is what letters are looked at by.
type look struct {
	filter   LetterFilter
	rest     []Rest     // go on with this; nil: from the beginning
	progress func(Scan) // nil: nobody wants to know
	enough   func() bool
}

// taking is what is done with letters of one topic. It calls done with those that are
// never to come again, in their order, and may end the look by errEnough.
type taking func(t kafka.Overview, letters []found, done func([]found)) error

// scan reads the dead letters of a look, the oldest of each partition first, and hands
// those that match on in portions, each of one topic. It gives what is left.
func (d *Service) scan(ctx context.Context, l look, take taking) (sum Scan, rest []Rest, err error) {
	if l.progress == nil {
		l.progress = func(Scan) {}
	}
	topics, err := d.letterTopics(ctx, l.filter)
	if err != nil {
		return sum, nil, err
	}
	spans := make([]map[int32]kafka.Span, len(topics))
	for i, t := range topics {
		if l.rest != nil {
			spans[i] = restOf(l.rest, t, &sum)
		} else if spans[i], err = d.letterSpans(ctx, l.filter, t, MaxScan/int64(len(topics)), &sum); err != nil {
			return sum, nil, err
		}
	}
	for i, t := range topics {
		err := d.readSpans(ctx, t, maps.Clone(spans[i]), func(records []*kgo.Record) error {
			err := d.takeRecords(ctx, l.filter, t, records, spans[i], &sum, take)
			l.progress(sum)
			if err == nil && l.enough != nil && l.enough() {
				err = errEnough
			}
			return err
		})
		if errors.Is(err, errEnough) {
			return sum, leftOf(topics[i:], spans[i:]), nil
		}
		if err != nil {
			return sum, nil, err
		}
	}
	return sum, nil, nil
}

// takeRecords hands on those of a topic's records that match, and moves the beginnings
// of what is left behind those that are done.
func (d *Service) takeRecords(
	ctx context.Context, f LetterFilter, t kafka.Overview, records []*kgo.Record, left map[int32]kafka.Span, sum *Scan,
	take taking,
) error {
	matched, err := d.match(ctx, f, t, records)
	if err != nil {
		return err
	}
	passed := func(partition int32, offset int64) {
		left[partition] = kafka.Span{From: offset + 1, To: left[partition].To}
	}
	taken := int64(0)
	if len(matched) > 0 {
		err = take(t, matched, func(letters []found) {
			for _, one := range letters {
				passed(one.Partition, one.Offset)
			}
			taken += int64(len(letters))
		})
	}
	if err != nil {
		sum.Scanned += taken
		sum.Matched += taken
		return err
	}
	for _, r := range records {
		passed(r.Partition, r.Offset)
	}
	sum.Scanned += int64(len(records))
	sum.Matched += int64(len(matched))
	return nil
}

// restOf returns what is left of a topic, within the log as it is.
func restOf(rest []Rest, t kafka.Overview, sum *Scan) map[int32]kafka.Span {
	spans := map[int32]kafka.Span{}
	for _, r := range rest {
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

func leftOf(topics []kafka.Overview, spans []map[int32]kafka.Span) (rest []Rest) {
	for i, t := range topics {
		for _, p := range slices.Sorted(maps.Keys(spans[i])) {
			if span := spans[i][p]; span.From < span.To {
				rest = append(rest, Rest{Topic: t.Label, Partition: p, From: span.From, To: span.To})
			}
		}
	}
	return rest
}

// action is what is done about a portion of letters of one topic.
type action func(context.Context, LetterRequest, kafka.Overview, []found) ([]LetterOutcome, error)

// each does something about the letters of a request, in portions.
func (d *Service) each(
	ctx context.Context, r LetterRequest, progress func(LetterResult), do action,
) (LetterResult, error) {
	result := LetterResult{Outcomes: []LetterOutcome{}, Counts: map[Fate]int64{}}
	if progress == nil {
		progress = func(LetterResult) {}
	}
	if len(r.Reason) > MaxReason {
		return result, fault.Field(fault.Invalid, "reason", fmt.Sprintf("must not be longer than %d bytes", MaxReason))
	}
	work := &work{desk: d, request: r, do: do, result: &result, until: time.Now().Add(r.Within)}
	if len(r.Places) > 0 {
		work.request.Within = 0
		err := work.places(ctx)
		return result, err
	}
	f := r.Filter
	if len(f.States) == 0 && !r.Again {
		f.States = []jobs.LetterState{jobs.LetterOpen}
	}
	l := look{filter: f, rest: r.Rest, enough: work.over, progress: func(s Scan) {
		result.Scan = s
		progress(result)
	}}
	var err error
	result.Scan, result.Rest, err = d.scan(ctx, l, func(t kafka.Overview, letters []found, done func([]found)) error {
		return work.take(ctx, t, letters, done)
	})
	return result, err
}

// work is something that is done about letters, as far as it is.
type work struct {
	desk    *Service
	request LetterRequest
	do      action
	result  *LetterResult
	until   time.Time
	begun   bool // something was done
}

// over reports whether nothing more is to be begun.
func (w *work) over() bool { return w.request.Within > 0 && !time.Now().Before(w.until) }

// places does it to the letters at the request's places.
func (w *work) places(ctx context.Context) error {
	for _, at := range w.request.Places {
		t, one, err := w.desk.letter(ctx, at)
		if err == nil {
			err = w.take(ctx, t, []found{one}, func([]found) {})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take does it to letters of one topic, in portions of so many bytes.
func (w *work) take(ctx context.Context, t kafka.Overview, letters []found, done func([]found)) error {
	for len(letters) > 0 {
		if w.begun && w.over() {
			return errEnough
		}
		n, bytes := 0, 0
		for n < len(letters) && (n == 0 || bytes+letters[n].Bytes <= portionBytes) {
			bytes += letters[n].Bytes
			n++
		}
		outcomes, err := w.do(ctx, w.request, t, letters[:n])
		if err != nil && w.begun && w.over() && fault.Is(err, fault.Unavailable) {
			return errEnough // there was no room: the next request waits for it
		}
		w.note(outcomes)
		if err != nil {
			return err
		}
		w.begun = true
		done(letters[:n])
		letters = letters[n:]
	}
	return nil
}

func (w *work) note(outcomes []LetterOutcome) {
	for _, o := range outcomes {
		w.result.Counts[o.Fate]++
		if len(w.result.Outcomes) < maxOutcomes {
			w.result.Outcomes = append(w.result.Outcomes, o)
		}
	}
}
