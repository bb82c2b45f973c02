package mqtt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

const (
	// maxBatchBytes bounds the lines of a request, except for those of its last message.
	maxBatchBytes = 2 << 20
	// refusedPause is the pause after the server has refused the key or the workspace, which an operator has to repair.
	refusedPause = 10 * time.Second
	// holdTime is how long a message waits for a birth of its node.
	holdTime = 10 * time.Second
)

// sender sends the messages of a link.
type sender struct {
	*link
	publish publisher
	held    []delivery // that wait for a birth of their node
	unacked []delivery // of QoS 1 and 2, in the order of their arrival: the protocol has acknowledgements in this order
}

// batch is what one request sends.
type batch struct {
	began      time.Time
	deliveries []delivery
	lines      []byte
	ends       []int // of the lines of each delivery
}

// start returns where the lines of a delivery begin.
func (b *batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// run sends messages until the link is stopped and its queue is empty, or ctx ends.
func (s *sender) run(ctx context.Context) {
	for {
		b, ok := s.collect(ctx)
		if !ok || !s.sendAll(ctx, b) {
			return
		}
		s.acknowledge(b)
		s.metrics.waiting.WithLabelValues(s.broker.Name).Sub(float64(len(b.deliveries)))
		s.metrics.duration.WithLabelValues(s.broker.Name).Observe(time.Since(b.began).Seconds())
	}
}

// acknowledge acknowledges the messages of a batch, except for those after one that is held.
func (s *sender) acknowledge(b *batch) {
	for i := range b.deliveries {
		*b.deliveries[i].done = true
	}
	n := 0
	for ; n < len(s.unacked) && *s.unacked[n].done; n++ {
		s.unacked[n].ack()
	}
	s.unacked = slices.Delete(s.unacked, 0, n)
}

// collect collects the messages of a batch: those that arrive within the flush time of the first one, and those that
// have waited for a birth. ok is false if there are none and none will come.
func (s *sender) collect(ctx context.Context) (b *batch, ok bool) {
	b = &batch{}
	var flush, expiry <-chan time.Time
	if len(s.held) > 0 {
		expiry = time.After(holdTime - time.Since(time.UnixMicro(s.held[0].ArrivedUS)))
	}
	for len(b.deliveries) < s.broker.MaxInFlight && len(b.lines) < maxBatchBytes {
		var d delivery
		select {
		case <-ctx.Done():
			return b, false
		case <-flush:
			s.retry(ctx, b, false)
			return b, true
		case <-expiry:
			s.retry(ctx, b, false)
			return b, true
		case d = <-s.queue:
		case <-s.stopped:
			select {
			case d = <-s.queue:
			default:
				s.retry(ctx, b, true)
				return b, len(b.deliveries) > 0
			}
		}
		if flush == nil {
			b.began, flush = time.Now(), time.After(s.deps.Flush)
		}
		if d.qos > 0 {
			s.unacked = append(s.unacked, d)
		}
		s.add(ctx, b, d, true)
	}
	s.retry(ctx, b, false)
	return b, true
}

// retry maps the messages again that wait for a birth. Those that have waited long enough, or that keep too many others
// from being acknowledged, are added as they are; at the end also those of QoS 0, while the broker delivers the others
// again.
func (s *sender) retry(ctx context.Context, b *batch, ends bool) {
	held := s.held
	s.held = nil
	for _, d := range held {
		if b.began.IsZero() {
			b.began = time.Now()
		}
		expired := time.Since(time.UnixMicro(d.ArrivedUS)) >= holdTime || len(s.unacked) > s.broker.MaxInFlight
		s.add(ctx, b, d, !expired && (!ends || d.qos > 0))
	}
}

// add maps a message and adds its points. If the message needs a birth of its node and may wait, it is held instead.
func (s *sender) add(ctx context.Context, b *batch, d delivery, mayWait bool) {
	before := len(b.lines)
	outcome, err := stored, errUnmapped
	if i := slices.IndexFunc(s.broker.mappings, func(m *mapping.Mapping) bool { return m.Matches(d.Topic) }); i >= 0 {
		if m := s.broker.mappings[i]; d.Retained && !m.KeepsRetained() {
			outcome, err = retained, nil
		} else {
			err = s.addPoints(ctx, b, m, &d)
		}
	}
	if mayWait && errors.Is(err, mapping.ErrAwaited) && len(s.held) < max(s.broker.MaxInFlight/2, 1) {
		b.lines = b.lines[:before]
		s.held = append(s.held, d)
		return
	}
	if err != nil {
		s.note(d.Topic, err.Error())
		if len(b.lines) == before {
			outcome = unmapped
		}
	}
	if outcome != stored { // the outcome of the others is known after the request
		s.count(outcome)
	}
	b.deliveries = append(b.deliveries, d)
	b.ends = append(b.ends, len(b.lines))
}

// errUnmapped is the error for a message of a subscription that an earlier configuration had.
var errUnmapped = errors.New("no mapping has the topic of the message")

func (s *sender) addPoints(ctx context.Context, b *batch, m *mapping.Mapping, d *delivery) error {
	points, reply, err := m.Points(&d.Message)
	if reply != nil {
		if publishErr := s.publish(ctx, reply.Topic, reply.Payload); publishErr != nil {
			s.note(reply.Topic, "cannot ask for a birth: "+publishErr.Error())
		}
	}
	for i := range points {
		var lineErr error
		if b.lines, lineErr = appendLine(b.lines, &points[i]); lineErr != nil {
			err = lineErr
		}
	}
	return err
}

// sendAll sends the messages of a batch until the server has answered them. It reports whether it has.
func (s *sender) sendAll(ctx context.Context, b *batch) bool {
	return len(b.deliveries) == 0 || s.send(ctx, b, 0, len(b.deliveries))
}

// send sends the messages from..to of a batch until the server has answered them. It reports whether it has. If the
// server refuses the request because of its content, the halves are sent alone, to find the message.
func (s *sender) send(ctx context.Context, b *batch, from, to int) bool {
	lines := b.lines[b.start(from):b.ends[to-1]]
	if len(lines) == 0 {
		return true
	}
	for {
		receipt, err := s.deps.Ingest(ctx, lines)
		answered, splits := s.settle(b, from, to, receipt, err)
		switch {
		case answered:
			return true
		case splits:
			middle := (from + to) / 2
			return s.send(ctx, b, from, middle) && s.send(ctx, b, middle, to)
		case !sleep.For(ctx, refusedPause):
			return false
		}
	}
}

// settle counts the outcome of a request. It reports whether the server has answered for all messages, or whether they
// have to be sent in halves. Otherwise the request has to be repeated.
func (s *sender) settle(b *batch, from, to int, receipt client.Receipt, err error) (answered, splits bool) {
	var refusal *fault.Error
	content := errors.As(err, &refusal) &&
		(refusal.Kind == fault.Malformed || refusal.Kind == fault.Invalid || refusal.Kind == fault.TooLarge)
	points := s.metrics.points
	switch {
	case err == nil:
		points.WithLabelValues(s.broker.Name, "accepted").Add(float64(receipt.Accepted))
		points.WithLabelValues(s.broker.Name, "rejected").Add(float64(receipt.Rejected))
		for _, r := range receipt.Errors {
			s.note("", "points were rejected: "+r.Field+": "+r.Reason)
		}
		s.countStored(b, from, to)
		return true, false
	case content && rejectedAll(refusal):
		points.WithLabelValues(s.broker.Name, "rejected").Add(number(refusal.Details["rejected"]))
		s.note("", "points were rejected: "+refusal.Message)
		s.countStored(b, from, to)
		return true, false
	case content && to-from > 1:
		return false, true
	case content:
		s.note(b.deliveries[from].Topic, "the server refuses a message: "+refusal.Message)
		s.count(refused)
		return true, false
	}
	if !errors.Is(err, context.Canceled) {
		s.note("", "the server refuses requests, which are repeated: "+err.Error())
	}
	return false, false
}

// countStored counts the messages that had points.
func (s *sender) countStored(b *batch, from, to int) {
	for i := from; i < to; i++ {
		if b.ends[i] > b.start(i) {
			s.count(stored)
		}
	}
}

// rejectedAll reports whether a refusal lists the rejected points, which are then all of the request.
func rejectedAll(refusal *fault.Error) bool { return number(refusal.Details["rejected"]) > 0 }

// number returns a number in the details of an error, 0 for anything else.
func number(value any) float64 {
	n, _ := value.(float64)
	return n
}
