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
	"github.com/livegraph/livegraph/storage/kafka/secure"
	"github.com/livegraph/livegraph/storage/kafka/sentbytes"
	"github.com/livegraph/livegraph/storage/kafka/tracecontext"
)

// Names of record headers.
const (
	HeaderRequestID = "lg-request-id" // id of the request that caused the record
	HeaderReplyTo   = "lg-reply-to"   // on commands: the API process that waits for the result
	HeaderVersion   = "lg-version"    // decimal; on dead letters of points and redriven points: the original version
	HeaderRoute     = "lg-route"      // decimal; on points: the route (pointblock.Route) that chose the partition
	HeaderError     = "lg-error"      // on dead letters: why the record could not be processed
	HeaderTopic     = "lg-topic"      // on dead letters: the original record's topic, with its partition and offset below
	HeaderPartition = "lg-partition"
	HeaderOffset    = "lg-offset"
)

// Retry-After of refused requests.
const (
	retryAfterBusy = time.Second
	retryAfterFull = 5 * time.Second
)

// delivery collects the acknowledgements of one call.
type delivery struct {
	records []kgo.Record

	mu      sync.Mutex
	pending int
	offsets []int64 // offset of each record; -1: not acknowledged
	err     error   // first failure
	done    chan struct{}
}

// ProducePoints sends each message to its partition and waits until all in-sync replicas have all of
// them, at most for ProduceTimeout. It returns the positions of the acknowledged messages, in the
// order of msgs.
//
// If not all are acknowledged, the error is fault.Unavailable with a Retry-After. It is returned at
// once when the brokers are unavailable, the buffer is full or the consumer lags too far behind. It
// has the detail "partial" when some messages are in the log. Unacknowledged messages may still be
// written to the log later.
//
// After an error the caller must not modify the messages' bytes: cancelled records may still refer
// to them. After success it may reuse them.
func (c *Client) ProducePoints(
	ctx context.Context, requestID string, msgs []pointblock.Message,
) ([]pointblock.Position, error) {
	if len(msgs) == 0 {
		return nil, nil
	}
	ctx, span := c.startSend(ctx, c.points, len(msgs))
	records := make([]kgo.Record, len(msgs))
	base := tracecontext.Add(ctx, []kgo.RecordHeader{{Key: HeaderRequestID, Value: []byte(requestID)}})
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

// withRoute returns the headers with the route added, unless it is 0.
func withRoute(base []kgo.RecordHeader, route int64) []kgo.RecordHeader {
	if route == 0 {
		return base
	}
	return append(slices.Clip(base), kgo.RecordHeader{Key: HeaderRoute, Value: strconv.AppendInt(nil, route, 10)})
}

// RouteOf returns the route of a record of topic points, or pointblock.AnyRoute if the record has no
// valid one.
func RouteOf(r *kgo.Record) int64 {
	route, err := strconv.ParseInt(string(Header(r, HeaderRoute)), 10, 64)
	if err != nil || route <= 0 {
		return pointblock.AnyRoute
	}
	return route
}

// produce sends records to their partitions of a topic. It waits and returns results as
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
	if err != nil && reason == "" { // all requests were answered, some with an error
		reason = failureReason(d)
	}
	c.metrics.recordProduce(t, len(records), size, began, reason)
	return positions, err
}

// send starts sending the records and does not wait for acknowledgements.
func (c *Client) send(t *topic, records []kgo.Record) *delivery {
	d := &delivery{
		records: records, pending: len(records), offsets: make([]int64, len(records)), done: make(chan struct{}),
	}
	watched := t.group != "" // without a group the fill is not measured, and the counts would only grow
	if watched {
		t.fill.uncommitted.AddInFlight(records)
	}
	for i := range records {
		d.offsets[i] = -1
		bytes, partition := sentbytes.Of(&records[i]), records[i].Partition
		// Not the request's context: when it is cancelled, franz-go would cancel the whole
		// batch, including records of other requests.
		t.producer.TryProduce(c.ctx, &records[i], func(r *kgo.Record, err error) {
			if err == nil {
				c.health.recordResponse()
			}
			switch {
			case watched && err == nil:
				t.fill.uncommitted.Acknowledged(partition, r.Offset, bytes)
			case watched:
				t.fill.uncommitted.Failed(partition, bytes)
			}
			d.finish(i, r.Offset, err)
		})
	}
	return d
}

// sizeOf returns the total bytes of the records' keys and values.
func sizeOf(records []kgo.Record) (size int64) {
	for i := range records {
		size += sentbytes.Of(&records[i])
	}
	return size
}

// failureReason returns the reason of a failed delivery, for the metrics.
func failureReason(d *delivery) string {
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

// refusal returns an error and its reason for the metrics if a produce of records of size bytes
// cannot succeed, or nil.
func (c *Client) refusal(t *topic, records []kgo.Record, size int64) (reason string, err error) {
	if !c.Healthy() {
		return failedUnavailable, errUnavailable()
	}
	if threshold := c.opts.LogFullThreshold; threshold > 0 && (t.fill.read() >= threshold ||
		slices.ContainsFunc(records, func(r kgo.Record) bool { return t.fill.full(r.Partition, threshold) })) {
		return failedLogFull, fault.New(fault.Unavailable, t.fullMessage).After(retryAfterFull)
	}
	if t.bufferedBytes()+size > t.maxBufferedBytes || t.bufferedRecords()+int64(len(records)) > maxBufferedRecords {
		return failedBuffer, errBufferFull()
	}
	return "", nil
}

func errUnavailable() *fault.Error {
	return fault.New(fault.Unavailable, "The log is not available").After(retryAfterBusy)
}

// errRequest wraps the error of a request to the brokers as fault.Unavailable: a retry may succeed.
func errRequest(what string, err error) error {
	return errUnavailable().Because(fmt.Errorf("kafka: %s: %w", what, secure.Explain(err)))
}

func errBufferFull() *fault.Error {
	return fault.New(fault.Unavailable, "The pipeline's buffers are full").After(retryAfterBusy)
}

// finish records the result of record i.
func (d *delivery) finish(i int, offset int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.offsets[i] = offset
	} else if d.err == nil {
		d.err = err
	}
	if d.pending--; d.pending == 0 {
		close(d.done)
	}
}

// await waits until all records are acknowledged or have failed, the brokers become unavailable, or
// the time is up.
func (c *Client) await(ctx context.Context, d *delivery) (reason string, err error) {
	timeout := time.NewTimer(c.opts.ProduceTimeout)
	defer timeout.Stop()
	select {
	case <-d.done:
		return "", nil
	case <-c.health.whenDown():
		return failedUnavailable, errUnavailable()
	case <-timeout.C:
		return failedTimeout, errUnavailable().Because(errors.New("no acknowledgement in time"))
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return failedTimeout, errUnavailable().Because(ctx.Err())
		}
		return failedOther, errUnavailable().Because(ctx.Err())
	}
}

// result returns the positions of the records acknowledged so far, and the error of the others.
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
		failure = fault.Wrap(d.err, fault.Internal, "A record is larger than the log accepts")
	case errors.Is(d.err, kgo.ErrMaxBuffered):
		failure = errBufferFull().Because(d.err)
	case d.err != nil:
		failure = errUnavailable().Because(d.err)
	case !errors.As(err, &failure):
		failure = errUnavailable().Because(err)
	}
	if len(positions) > 0 {
		failure = failure.With("partial", true)
	}
	return positions, failure
}

// Header returns the value of the record's header with the given name, or nil if there is none.
func Header(r *kgo.Record, name string) []byte {
	for i := range r.Headers {
		if r.Headers[i].Key == name {
			return r.Headers[i].Value
		}
	}
	return nil
}
