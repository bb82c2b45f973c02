// Package audit implements the audit log of requests with API keys.
//
// A [Trail] records requests. When Write returns, the record is in a spool on disk, so it
// survives a crash of the process and an outage of Kafka. The trail sends the records of the
// spool to topic audit, in order, and retries until Kafka has acknowledged them. Consumers
// write them to ClickHouse, where the routes of this package read them. A record may be
// written more than once, but is shown once.
//
// Requests that are not limited by a plan (mostly refused ones) are recorded individually if
// they are few. Otherwise similar ones share a record; see [Trail.Fold].
//
// Requests without a known key are not recorded individually, because anyone could fill the
// disk with them. They are counted by address, and the counts are written each minute.
package audit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/kafka"
)

// Batch limits, intervals and timeouts of sending.
const (
	sendRecords = 1000
	sendBytes   = 512 << 10
	// sendLinger is how long the trail waits for more records if there are few.
	sendLinger    = 100 * time.Millisecond
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 5 * time.Second
	logInterval   = 30 * time.Second
	sendTimeout   = 30 * time.Second // more than the timeout of the Kafka client
	closingGrace  = 2 * time.Second  // unsent records then stay in the spool
)

// Values of Retry-After for refused requests.
const (
	retryAfterFull    = 5 * time.Second
	retryAfterFailing = time.Second
)

// probeEvery is the interval of checking whether a failed spool can be written again.
const probeEvery = time.Second

// countEvery is the interval of writing the counts of requests without a known key.
const countEvery = time.Minute

// log sends records to Kafka.
type log interface {
	ProduceAudit(ctx context.Context, records []kafka.Record) error
}

// TrailDeps are the dependencies of a trail.
type TrailDeps struct {
	Spool   *spool.Spool // owned by the trail: Close closes it
	Log     log
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: metrics are not registered
	// CountEvery is the interval of writing the counts of requests without a known key; 0: one
	// minute.
	CountEvery time.Duration
}

// Trail records requests with API keys. Run sends the records to Kafka.
type Trail struct {
	deps    TrailDeps
	logger  *slog.Logger
	metrics *metrics
	unknown counts
	folds   folds
}

// NewTrail creates a trail.
func NewTrail(deps TrailDeps) *Trail {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.CountEvery <= 0 {
		deps.CountEvery = countEvery
	}
	t := &Trail{deps: deps, logger: deps.Logger.With("component", "audit")}
	t.metrics = newMetrics(deps.Metrics, deps.Spool)
	return t
}

// CheckCapacity returns an Unavailable error if no more requests can be recorded, because the spool is
// full or cannot be written.
func (t *Trail) CheckCapacity() error {
	switch {
	case t.deps.Spool.Full():
		t.metrics.refused.WithLabelValues(refusedFull).Inc()
		return fault.New(fault.Unavailable, "Uses of keys cannot be recorded at the moment").After(retryAfterFull)
	case t.deps.Spool.Failing():
		t.metrics.refused.WithLabelValues(refusedFailing).Inc()
		return fault.New(fault.Unavailable, "Uses of keys cannot be recorded at the moment").After(retryAfterFailing)
	}
	return nil
}

// Failing reports whether no request can be recorded because the spool's disk fails.
func (t *Trail) Failing() bool { return t.deps.Spool.Failing() }

// Write records a request. After it returns nil, the record survives a crash of the process.
func (t *Trail) Write(r *auditrecord.Record) error {
	began := time.Now()
	record, err := auditrecord.Encode(r)
	if err == nil {
		err = t.deps.Spool.Append(record)
	}
	if err != nil {
		t.metrics.failed.Inc()
		return fmt.Errorf("recording a use of a key: %w", err)
	}
	t.metrics.duration.Observe(time.Since(began).Seconds())
	return nil
}

// CountUnknown counts a request without a known key.
func (t *Trail) CountUnknown(ip netip.Addr, status int) {
	t.metrics.unknown.Inc()
	t.unknown.add(ip, status)
}

// Run sends the records of the spool until ctx is done, and then the remaining ones for up to
// closingGrace. Unsent records stay in the spool.
func (t *Trail) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { t.writeCountsPeriodically(ctx); return nil })
	work.Go(func() error { t.probe(ctx); return nil })
	work.Go(func() error { t.sendUntilDone(ctx); return nil })
	_ = work.Wait() // always nil
	t.writeCounts()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingGrace)
	defer cancel()
	for t.deps.Spool.Pending() > 0 {
		if err := t.send(closing); err != nil {
			t.logger.Info("audit records stay in the spool until the next start", "bytes", t.deps.Spool.Pending(), "error", err)
			return nil
		}
	}
	return nil
}

// Close closes the spool.
func (t *Trail) Close() error { return t.deps.Spool.Close() }

// sendUntilDone sends records until ctx is done.
func (t *Trail) sendUntilDone(ctx context.Context) {
	backoff, lastLogged := retry.New(minRetryDelay, maxRetryDelay), time.Time{}
	for ctx.Err() == nil {
		err := t.send(ctx)
		if err == nil {
			backoff.Reset()
			if lastLogged = (time.Time{}); t.deps.Spool.Pending() < sendBytes {
				sleep.For(ctx, sendLinger)
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		t.metrics.unsent.Inc()
		if time.Since(lastLogged) >= logInterval {
			t.logger.Warn("audit records wait in the spool", "bytes", t.deps.Spool.Pending(), "error", err)
			lastLogged = time.Now()
		}
		backoff.Wait(ctx)
	}
}

// send waits for records, sends them, and marks them as done when they are acknowledged.
func (t *Trail) send(ctx context.Context) error {
	b, err := t.deps.Spool.Next(ctx, sendRecords, sendBytes)
	if err != nil {
		return err
	}
	records := make([]kafka.Record, 0, len(b.Records))
	for _, raw := range b.Records {
		r, err := auditrecord.Decode(raw)
		if err != nil {
			t.logger.Error("DATA LOSS: an audit record of the spool cannot be read", "error", err)
			continue
		}
		// A copy, because the Kafka client may still use it after an error.
		records = append(records, kafka.Record{Workspace: r.Workspace, Value: bytes.Clone(raw), RequestID: r.RequestID})
	}
	sendCtx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := t.deps.Log.ProduceAudit(sendCtx, records); err != nil {
		return err
	}
	t.metrics.sent.Add(float64(len(records)))
	t.metrics.lastSent.SetToCurrentTime()
	if err := t.deps.Spool.Done(b); err != nil { // records not marked are sent again after a crash
		t.logger.Warn("the position of sent audit records cannot be saved", "error", err)
	}
	return nil
}

// probe periodically checks whether a failed spool can be written again.
func (t *Trail) probe(ctx context.Context) {
	for sleep.For(ctx, probeEvery) {
		t.deps.Spool.Probe()
	}
}

// writeCountsPeriodically writes the counts of requests without a known key until ctx is done.
func (t *Trail) writeCountsPeriodically(ctx context.Context) {
	for sleep.For(ctx, t.deps.CountEvery) {
		t.writeCounts()
	}
}

func (t *Trail) writeCounts() {
	since, found := t.unknown.take()
	for from, n := range found {
		if t.deps.Spool.Full() {
			t.logger.Warn("counts of requests without a known key are lost: the spool is full")
			return
		}
		_ = t.Write(&auditrecord.Record{ // a failure is counted
			RequestID: reply.NewRequestID(), At: since, Route: auditrecord.NoRoute, Status: from.status, IP: from.ip,
			Requests: n,
		})
	}
}

// maxCounts is the maximum number of separate counts in one interval. Further requests are
// counted without their address.
const maxCounts = 1000

type countKey struct {
	ip     netip.Addr
	status int
}

// counts are requests by address and status.
type counts struct {
	mu    sync.Mutex
	since time.Time
	byKey map[countKey]uint32
}

func (c *counts) add(ip netip.Addr, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey, c.since = map[countKey]uint32{}, time.Now()
	}
	key := countKey{ip.WithZone(""), status}
	if _, known := c.byKey[key]; !known && len(c.byKey) >= maxCounts {
		key.ip = netip.Addr{}
	}
	c.byKey[key]++
}

// take returns the counts and the time of the first one, and resets them.
func (c *counts) take() (since time.Time, found map[countKey]uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, found = c.since, c.byKey
	c.byKey = nil
	return since, found
}
