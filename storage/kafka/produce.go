package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/fault"
	"github.com/livegraph/livegraph/internal/tracing"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Names of record headers.
const (
	HeaderRequestID = "lg-request-id" // the request that caused the record
	HeaderVersion   = "lg-version"    // decimal; on points only where a record was redriven: its original version
	HeaderError     = "lg-error"      // why a dead letter is one
	HeaderTopic     = "lg-topic"      // where a dead letter comes from
	HeaderPartition = "lg-partition"
	HeaderOffset    = "lg-offset"
	// HeaderTrace and HeaderTraceState say which trace a record belongs to, as in
	// https://www.w3.org/TR/trace-context/; only where that is recorded.
	HeaderTrace      = "traceparent"
	HeaderTraceState = "tracestate"
)

// When a refused client may try again.
const (
	retryAfterBusy = time.Second
	retryAfterFull = 5 * time.Second
)

// delivery collects the acknowledgements of one call.
type delivery struct {
	mu      sync.Mutex
	left    int
	offsets []int64 // by message; -1: not acknowledged
	err     error   // the first failure
	done    chan struct{}
}

// ProducePoints sends each message to its partition and waits until all in-sync
// replicas have all of them, ProduceTimeout at most. It gives the positions of
// those that are acknowledged, in the order of msgs.
//
// If not all are, the error is fault.Unavailable with a Retry-After: at once when
// the brokers are away, the buffer is full or the consumer lags too far behind;
// with the detail "partial" when some are in the log. What was not acknowledged
// may still get there.
//
// After an error the messages' bytes must not be written again: records that were
// given up may still refer to them. After success they are free.
func (c *Client) ProducePoints(ctx context.Context, requestID string, msgs []pointblock.Message) ([]pointblock.Position, error) {
	if len(msgs) == 0 {
		return nil, nil
	}
	ctx, span := c.startSend(ctx, len(msgs))
	positions, err := c.producePoints(ctx, requestID, msgs)
	tracing.End(span, err)
	return positions, err
}

func (c *Client) producePoints(ctx context.Context, requestID string, msgs []pointblock.Message) ([]pointblock.Position, error) {
	if reason, err := c.refusal(msgs); err != nil {
		c.metrics.failed.WithLabelValues(reason).Inc()
		return nil, err
	}
	began := time.Now()
	d := &delivery{left: len(msgs), offsets: make([]int64, len(msgs)), done: make(chan struct{})}
	records := make([]kgo.Record, len(msgs))
	headers := withTrace(ctx, []kgo.RecordHeader{{Key: HeaderRequestID, Value: []byte(requestID)}})
	topic := c.pointsName()
	c.fill.own.handed(msgs)
	for i, m := range msgs {
		d.offsets[i] = -1
		bytes := bytesOf(m)
		records[i] = kgo.Record{Topic: topic, Partition: m.Partition, Key: m.Key, Value: m.Value, Headers: headers}
		// Not the request's context: franz-go would cancel a whole batch, other
		// requests' records included, when one client hangs up.
		c.producer.TryProduce(c.ctx, &records[i], func(r *kgo.Record, err error) {
			if err == nil {
				c.health.alive()
				c.fill.own.acknowledged(r.Partition, r.Offset, bytes)
			}
			d.finish(i, r.Offset, err)
		})
	}
	reason, err := c.await(ctx, d)
	positions, err := d.result(msgs, err)
	if err == nil {
		c.metrics.produced(msgs, began)
		return positions, nil
	}
	if reason == "" { // all were answered, some with an error
		reason = failureOf(d)
	}
	c.metrics.failed.WithLabelValues(reason).Inc()
	c.metrics.duration.Observe(time.Since(began).Seconds())
	return positions, err
}

// failureOf says for the metrics why records were given up.
func failureOf(d *delivery) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(d.err, kgo.ErrMaxBuffered):
		return failedBuffer
	case errors.Is(d.err, kgo.ErrRecordTimeout):
		return failedTimeout
	}
	return failedOther
}

// refusal says why a produce is hopeless before it begins, or nil.
func (c *Client) refusal(msgs []pointblock.Message) (reason string, err error) {
	if !c.Healthy() {
		return failedAway, errAway()
	}
	if t := c.opts.LogFullThreshold; t > 0 && (c.LogFill() >= t ||
		slices.ContainsFunc(msgs, func(m pointblock.Message) bool { return c.fill.full(m.Partition, t) })) {
		return failedLogFull, fault.New(fault.Unavailable, "Points are not stored fast enough; the log is full").After(retryAfterFull)
	}
	size := int64(0)
	for _, m := range msgs {
		size += bytesOf(m)
	}
	if c.producer.BufferedProduceBytes()+size > int64(c.opts.BufferedBytes) ||
		c.producer.BufferedProduceRecords()+int64(len(msgs)) > maxBufferedRecords {
		return failedBuffer, errFull()
	}
	return "", nil
}

func errAway() *fault.Error {
	return fault.New(fault.Unavailable, "The log is not available").After(retryAfterBusy)
}

func errFull() *fault.Error {
	return fault.New(fault.Unavailable, "The pipeline's buffers are full").After(retryAfterBusy)
}

// finish notes the fate of message i.
func (d *delivery) finish(i int, offset int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.offsets[i] = offset
	} else if d.err == nil {
		d.err = err
	}
	if d.left--; d.left == 0 {
		close(d.done)
	}
}

// await waits for all acknowledgements, or for a reason not to.
func (c *Client) await(ctx context.Context, d *delivery) (reason string, err error) {
	timeout := time.NewTimer(c.opts.ProduceTimeout)
	defer timeout.Stop()
	select {
	case <-d.done:
		return "", nil
	case <-c.health.gone():
		return failedAway, errAway()
	case <-timeout.C:
		return failedTimeout, errAway().Because(errors.New("no acknowledgement in time"))
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return failedTimeout, errAway().Because(ctx.Err())
		}
		return failedOther, errAway().Because(ctx.Err())
	}
}

// result gives the positions of what is acknowledged by now, and the error.
func (d *delivery) result(msgs []pointblock.Message, err error) ([]pointblock.Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	positions := make([]pointblock.Position, 0, len(msgs))
	for i, offset := range d.offsets {
		if offset >= 0 {
			positions = append(positions, pointblock.Position{Partition: msgs[i].Partition, Offset: offset})
		}
	}
	if len(positions) == len(msgs) {
		return positions, nil
	}
	var failure *fault.Error
	switch {
	case errors.Is(d.err, kerr.MessageTooLarge):
		failure = fault.Wrap(d.err, fault.Internal, "A record is larger than the log takes")
	case errors.Is(d.err, kgo.ErrMaxBuffered):
		failure = errFull().Because(d.err)
	case d.err != nil:
		failure = errAway().Because(d.err)
	case !errors.As(err, &failure):
		failure = errAway().Because(err)
	}
	if len(positions) > 0 {
		failure = failure.With("partial", true)
	}
	return positions, failure
}

// DeadLetter is a record that cannot be processed, and why.
type DeadLetter struct {
	Record  *kgo.Record // as it was consumed
	Version uint64      // the version that its points would have had
	Reason  string
}

// maxReasonBytes bounds the text of a dead letter's reason.
const maxReasonBytes = 2048

// ProduceDeadLetters puts the records into points.dlq, key and value as they were,
// and waits for the acknowledgement of all. An error means that some may not be
// there; to repeat the call is safe but for duplicates.
func (c *Client) ProduceDeadLetters(ctx context.Context, letters []DeadLetter) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProduceTimeout+requestOverhead)
	defer cancel()
	partitions, err := c.deadLetterPartitions(ctx)
	if err != nil {
		return err
	}
	records := make([]*kgo.Record, 0, len(letters))
	for _, l := range letters {
		records = append(records, &kgo.Record{
			Topic: c.deadLettersName(), Partition: l.Record.Partition % partitions,
			Key: l.Record.Key, Value: l.Record.Value, Headers: l.headers(),
		})
	}
	if err := c.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("kafka: producing dead letters: %w", err)
	}
	c.metrics.letters.Add(float64(len(letters)))
	return nil
}

func (c *Client) deadLetterPartitions(ctx context.Context) (int32, error) {
	topics, err := c.admin.ListTopics(ctx, c.deadLettersName())
	if err != nil {
		return 0, fmt.Errorf("kafka: describing %s: %w", c.deadLettersName(), err)
	}
	n := int32(len(topics[c.deadLettersName()].Partitions))
	if n == 0 {
		return 0, fmt.Errorf("kafka: topic %s does not exist", c.deadLettersName())
	}
	return n, nil
}

func (l *DeadLetter) headers() []kgo.RecordHeader {
	reason := l.Reason[:min(len(l.Reason), maxReasonBytes)]
	headers := []kgo.RecordHeader{
		{Key: HeaderError, Value: []byte(reason)},
		{Key: HeaderTopic, Value: []byte(l.Record.Topic)},
		{Key: HeaderPartition, Value: strconv.AppendInt(nil, int64(l.Record.Partition), 10)},
		{Key: HeaderOffset, Value: strconv.AppendInt(nil, l.Record.Offset, 10)},
		{Key: HeaderVersion, Value: strconv.AppendUint(nil, l.Version, 10)},
		{Key: HeaderRequestID, Value: Header(l.Record, HeaderRequestID)},
	}
	for _, name := range []string{HeaderTrace, HeaderTraceState} {
		if value := Header(l.Record, name); value != nil {
			headers = append(headers, kgo.RecordHeader{Key: name, Value: value})
		}
	}
	return headers
}

// Header gives the value of a record's header, nil when it has none of the name.
func Header(r *kgo.Record, name string) []byte {
	for i := range r.Headers {
		if r.Headers[i].Key == name {
			return r.Headers[i].Value
		}
	}
	return nil
}
