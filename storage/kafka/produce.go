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

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Names of record headers.
const (
	HeaderRequestID = "lg-request-id" // the request that caused the record
	HeaderReplyTo   = "lg-reply-to"   // on commands: the API process that waits for the outcome
	HeaderVersion   = "lg-version"    // decimal; on points only where a record was redriven: its original version
	HeaderRoute     = "lg-route"      // decimal; on points: by which route (pointblock.Route) the partition was chosen
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
	records []kgo.Record

	mu      sync.Mutex
	left    int
	offsets []int64 // by record; -1: not acknowledged
	err     error   // the first failure
	done    chan struct{}
}

// ProducePoints sends each message to its partition and waits until all in-sync
// replicas have all of them, ProduceTimeout at most. It gives the positions of
// those that are acknowledged, in the order of msgs.
//
// If not all are, the error is fault.Unavailable with a Retry-After: at once when
// the brokers are unavailable, the buffer is full or the consumer lags too far behind;
// with the detail "partial" when some are in the log. What was not acknowledged
// may still get there.
//
// After an error the messages' bytes must not be written again: records that were
// given up may still refer to them. After success they are free.
func (c *Client) ProducePoints(
	ctx context.Context, requestID string, msgs []pointblock.Message,
) ([]pointblock.Position, error) {
	if len(msgs) == 0 {
		return nil, nil
	}
	ctx, span := c.startSend(ctx, c.points, len(msgs))
	records := make([]kgo.Record, len(msgs))
	base := withTrace(ctx, []kgo.RecordHeader{{Key: HeaderRequestID, Value: []byte(requestID)}})
	headers, route := base, int64(0)
	for i, m := range msgs {
		if m.Route != route {
			headers, route = withRoute(base, m.Route), m.Route
		}
		records[i] = kgo.Record{Topic: c.points.name, Partition: m.Partition, Key: m.Key, Value: m.Value, Headers: headers}
	}
	positions, err := c.produce(ctx, c.points, records)
	tracing.End(span, err)
	return positions, err
}

// withRoute returns the headers of records of a route.
func withRoute(base []kgo.RecordHeader, route int64) []kgo.RecordHeader {
	if route == 0 {
		return base
	}
	return append(slices.Clip(base), kgo.RecordHeader{Key: HeaderRoute, Value: strconv.AppendInt(nil, route, 10)})
}

// RouteOf returns by which route a record of points was sent, pointblock.AnyRoute if it
// does not say so.
func RouteOf(r *kgo.Record) int64 {
	route, err := strconv.ParseInt(string(Header(r, HeaderRoute)), 10, 64)
	if err != nil || route <= 0 {
		return pointblock.AnyRoute
	}
	return route
}

// produce sends records to their partitions of a topic, and waits and answers as
// ProducePoints does.
func (c *Client) produce(ctx context.Context, t *topic, records []kgo.Record) ([]pointblock.Position, error) {
	size := sizeOf(records)
	if reason, err := c.refusal(t, records, size); err != nil {
		c.metrics.failed.WithLabelValues(t.label, reason).Inc()
		return nil, err
	}
	began := time.Now()
	d := c.send(t, records)
	reason, err := c.await(ctx, d)
	positions, err := d.result(err)
	if err != nil && reason == "" { // all were answered, some with an error
		reason = failureOf(d)
	}
	c.metrics.produced(t, len(records), size, began, reason)
	return positions, err
}

// send begins to send the records.
func (c *Client) send(t *topic, records []kgo.Record) *delivery {
	d := &delivery{records: records, left: len(records), offsets: make([]int64, len(records)), done: make(chan struct{})}
	watched := t.group != "" // else nobody looks at the fill, and it would only grow
	if watched {
		t.fill.own.handed(records)
	}
	for i := range records {
		d.offsets[i] = -1
		bytes, partition := bytesOf(&records[i]), records[i].Partition
		// Not the request's context: franz-go would cancel a whole batch, other
		// requests' records included, when one client hangs up.
		t.producer.TryProduce(c.ctx, &records[i], func(r *kgo.Record, err error) {
			if err == nil {
				c.health.alive()
			}
			switch {
			case watched && err == nil:
				t.fill.own.acknowledged(partition, r.Offset, bytes)
			case watched:
				t.fill.own.failed(partition, bytes)
			}
			d.finish(i, r.Offset, err)
		})
	}
	return d
}

// sizeOf returns the bytes of keys and values.
func sizeOf(records []kgo.Record) (size int64) {
	for i := range records {
		size += bytesOf(&records[i])
	}
	return size
}

// bytesOf returns the bytes of a record's key and value.
func bytesOf(r *kgo.Record) int64 { return int64(len(r.Key) + len(r.Value)) }

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

// refusal reports why a produce of records of so many bytes is hopeless before it
// begins, or nil.
func (c *Client) refusal(t *topic, records []kgo.Record, size int64) (reason string, err error) {
	if !c.Healthy() {
		return failedAway, errAway()
	}
	if threshold := c.opts.LogFullThreshold; threshold > 0 && (t.fill.read() >= threshold ||
		slices.ContainsFunc(records, func(r kgo.Record) bool { return t.fill.full(r.Partition, threshold) })) {
		return failedLogFull, fault.New(fault.Unavailable, t.full).After(retryAfterFull)
	}
	if t.bufferedBytes()+size > t.buffered || t.bufferedRecords()+int64(len(records)) > maxBufferedRecords {
		return failedBuffer, errFull()
	}
	return "", nil
}

func errAway() *fault.Error {
	return fault.New(fault.Unavailable, "The log is not available").After(retryAfterBusy)
}

// errAsking wraps the error of a question to the brokers: asked again, it may be answered.
func errAsking(what string, err error) error {
	return errAway().Because(fmt.Errorf("kafka: %s: %w", what, Explain(err)))
}

func errFull() *fault.Error {
	return fault.New(fault.Unavailable, "The pipeline's buffers are full").After(retryAfterBusy)
}

// finish notes the fate of record i.
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

// result returns the positions of what is acknowledged by now, and the error.
func (d *delivery) result(err error) ([]pointblock.Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	positions := make([]pointblock.Position, 0, len(d.records))
	for i, offset := range d.offsets {
		if offset >= 0 {
			positions = append(positions, pointblock.Position{Partition: d.records[i].Partition, Offset: offset})
		}
	}
	if len(positions) == len(d.records) {
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

// Header returns the value of a record's header, nil when it has none of the name.
func Header(r *kgo.Record, name string) []byte {
	for i := range r.Headers {
		if r.Headers[i].Key == name {
			return r.Headers[i].Value
		}
	}
	return nil
}
