package livegraph

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrWriterClosed is a point that was given to a closed writer.
var ErrWriterClosed = errors.New("the writer is closed")

// WriterOptions are the options of a [Writer]. Fields that are 0 have their defaults.
type WriterOptions struct {
	// MaxPoints is the number of points that the writer holds, in the queue and in the request that is being sent. The
	// default is 50,000. [Writer.Write] blocks while the writer holds so many.
	MaxPoints int
	// BatchSize is the number of points of a request, by default 5,000.
	BatchSize int
	// Interval is the time after which points are sent, even if they are fewer than BatchSize. The default is a second.
	Interval time.Duration
	// OnError is called in the goroutine of the writer with points that could not be written. It must not call the
	// writer. Without it, the next call of the writer returns the error.
	OnError func(*WriteError)
}

func (o WriterOptions) withDefaults() (WriterOptions, error) {
	if o.MaxPoints == 0 {
		o.MaxPoints = 50_000
	}
	if o.BatchSize == 0 {
		o.BatchSize = min(5_000, o.MaxPoints)
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.BatchSize < 1 || o.BatchSize > o.MaxPoints || o.Interval < 0 {
		return o, errors.New("livegraph: 0 < BatchSize <= MaxPoints and 0 < Interval are required")
	}
	return o, nil
}

// WriterStats are the numbers of points of a writer.
type WriterStats struct {
	// Written are the points that were given to the writer. Each of them becomes Stored, Rejected or Failed.
	Written int
	// Queued are the points that wait or are being sent.
	Queued int
	// Stored are the points that the server accepted.
	Stored int
	// Rejected are the points that the server rejected in requests whose other points it accepted.
	Rejected int
	// Failed are the points of requests that failed.
	Failed int
}

// WriteError means that a writer could not write some points.
type WriteError struct {
	// Points are the points of the request. Of a request whose points were rejected in part, all points are listed; the
	// rejections in the [*RejectedError] name them.
	Points []Point
	Err    error
}

// Error returns the number of points and the reason.
func (e *WriteError) Error() string {
	return fmt.Sprintf("%d points could not be written: %v", len(e.Points), e.Err)
}

// Unwrap returns the reason.
func (e *WriteError) Unwrap() error { return e.Err }

// RejectedError means that the server accepted a request with points but rejected some of them.
type RejectedError struct {
	// Rejected is the number of rejected points.
	Rejected int
	// Rejections are the reasons, with the index of the first point of each in the request.
	Rejections []Rejection
}

// Error returns the number of points and the first reason.
func (e *RejectedError) Error() string {
	text := fmt.Sprintf("%d points were rejected", e.Rejected)
	if len(e.Rejections) > 0 {
		text += ": " + e.Rejections[0].Field + ": " + e.Rejections[0].Reason
	}
	return text
}

// Writer collects points and writes them in batches from a goroutine. It is safe for concurrent use.
//
// A batch is sent when it is complete, after the interval, and at Flush and Close. Points that could not be written
// after the retries of the client, and points that the server rejected, are given to OnError; without it the next
// call returns the error. A writer must be closed.
type Writer struct {
	options WriterOptions
	points  *Points
	cancel  context.CancelCauseFunc // of the requests
	wake    chan struct{}           // a batch may be due, capacity 1
	stopped chan struct{}           // the goroutine has ended

	mu       sync.Mutex
	progress chan struct{} // is closed, and replaced, when points are settled or the writer is closed
	buffer   buffer
	stats    WriterStats
	failures []error
	closed   bool
}

// NewWriter returns a writer that collects points and writes them in batches.
func (c *Client) NewWriter(options WriterOptions) (*Writer, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	w := &Writer{
		options: options, points: c.Points, cancel: cancel, wake: make(chan struct{}, 1),
		stopped: make(chan struct{}), progress: make(chan struct{}),
		buffer: buffer{batchSize: options.BatchSize, interval: options.Interval},
	}
	go w.run(ctx)
	return w, nil
}

// Write adds a point, and blocks while the writer holds MaxPoints. The source of the point must exist. A point
// without a timestamp gets the time of the call, to the microsecond, and later than that of the previous such point.
//
// The error is a [*WriteError] if earlier points could not be written and there is no callback; [ErrWriterClosed];
// the cause of the end of the context; or why the point is invalid. The point is not added then.
func (w *Writer) Write(ctx context.Context, point Point) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	complete, err := w.buffer.complete(point, time.Now())
	if err != nil {
		return err
	}
	for {
		if err := w.takeFailures(); err != nil {
			return err
		}
		if w.closed {
			return ErrWriterClosed
		}
		if w.buffer.held() < w.options.MaxPoints {
			break
		}
		if err := w.waitForProgress(ctx); err != nil {
			return err
		}
	}
	w.stats.Written++
	if w.buffer.add(complete, time.Now()) {
		w.notify()
	}
	return nil
}

// Flush sends all points that were written before, and waits until they are stored or reported. The error is a
// [*WriteError] if points could not be written and there is no callback, or the cause of the end of the context.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	target := w.buffer.flush()
	w.notify()
	for w.buffer.settled < target {
		if err := w.waitForProgress(ctx); err != nil {
			return err
		}
	}
	return w.takeFailures()
}

// Close sends all points, and waits until they are stored or reported. If the context ends before, the points that
// are left are reported as not written. No goroutine of the writer is left afterwards. The error is a [*WriteError]
// if points could not be written and there is no callback.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.buffer.flush()
	w.notify()
	w.signalProgress() // calls of Write that wait for space
	w.mu.Unlock()
	select {
	case <-w.stopped:
	case <-ctx.Done():
		w.cancel(context.Cause(ctx))
		<-w.stopped
	}
	w.cancel(ErrWriterClosed)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.takeFailures()
}

// Stats returns the numbers of points.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	stats := w.stats
	stats.Queued = w.buffer.held()
	return stats
}

// waitForProgress waits until points are settled or the writer is closed. The lock is released meanwhile.
func (w *Writer) waitForProgress(ctx context.Context) error {
	progress := w.progress
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-progress:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *Writer) signalProgress() {
	close(w.progress)
	w.progress = make(chan struct{})
}

func (w *Writer) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// takeFailures returns what was not reported to a callback.
func (w *Writer) takeFailures() error {
	failures := w.failures
	w.failures = nil
	if len(failures) == 1 {
		return failures[0]
	}
	return errors.Join(failures...)
}

// run sends batches until the writer is closed and has no points, or the context ends.
func (w *Writer) run(ctx context.Context) {
	defer close(w.stopped)
	for w.waitForBatch(ctx) {
		w.mu.Lock()
		batch := w.buffer.take()
		w.mu.Unlock()
		w.send(ctx, batch)
		w.mu.Lock()
		w.buffer.settle()
		w.signalProgress()
		w.mu.Unlock()
	}
}

// waitForBatch waits until a batch is due. It returns false when the writer is closed and has no points.
func (w *Writer) waitForBatch(ctx context.Context) bool {
	for {
		w.mu.Lock()
		wait, pending := w.buffer.due(time.Now())
		closed := w.closed
		w.mu.Unlock()
		switch {
		case pending && (wait <= 0 || ctx.Err() != nil):
			return true
		case !pending && closed:
			return false
		case !pending:
			<-w.wake
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// send sends a batch. A request that is too large for the server is halved.
func (w *Writer) send(ctx context.Context, batch []Point) {
	if ctx.Err() != nil {
		w.report(batch, len(batch), 0, context.Cause(ctx))
		return
	}
	result, err := w.points.Write(ctx, batch, WriteOptions{Precision: PrecisionUs})
	var api *APIError
	switch {
	case errors.As(err, &api) && api.Status == http.StatusRequestEntityTooLarge && len(batch) > 1:
		w.send(ctx, batch[:len(batch)/2])
		w.send(ctx, batch[len(batch)/2:])
	case err != nil:
		w.report(batch, len(batch), 0, err)
	default:
		w.mu.Lock()
		w.stats.Stored += result.Accepted
		w.mu.Unlock()
		if result.Rejected > 0 {
			w.report(batch, 0, result.Rejected, &RejectedError{Rejected: result.Rejected, Rejections: result.Errors})
		}
	}
}

// report reports points that were not written.
func (w *Writer) report(batch []Point, failed, rejected int, cause error) {
	err := &WriteError{Points: batch, Err: cause}
	w.mu.Lock()
	w.stats.Failed += failed
	w.stats.Rejected += rejected
	if w.options.OnError == nil {
		w.failures = append(w.failures, err)
	}
	w.mu.Unlock()
	if w.options.OnError != nil {
		w.options.OnError(err)
	}
}
