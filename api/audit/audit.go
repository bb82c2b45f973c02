// Package audit keeps the log of who used which key for what.
//
// A [Trail] takes up the uses that the server tells of. A use is in a spool on disk
// when Write returns, so it outlives a crash of the process and an outage of Kafka;
// the trail sends what is in the spool to topic audit, in order, until Kafka has
// acknowledged it. Consumers put it into ClickHouse, and the routes here read it there.
// A record may get there more than once, and is shown once.
//
// Uses that no plan counts (what is refused, mostly) are written singly as long as they are
// few, and one record for many that are alike where they are not; see [Trail.Fold].
//
// Requests without a known key are not written singly, which would let anybody fill
// the disk: they are counted by address, and each minute's counts are written.
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

// How records are sent.
const (
	sendRecords = 1000
	sendBytes   = 512 << 10
	// sendGather is how long records gather before they are sent, if they are few.
	sendGather   = 100 * time.Millisecond
	firstRetry   = 100 * time.Millisecond
	lastRetry    = 5 * time.Second
	repeatedLog  = 30 * time.Second
	sendTimeout  = 30 * time.Second // the log's own is less
	closingGrace = 2 * time.Second  // what is left then stays in the spool
)

// When a refused client may try again.
const (
	retryAfterFull    = 5 * time.Second
	retryAfterFailing = time.Second
)

// probeEvery is how often it is tried whether a spool that failed can be written.
const probeEvery = time.Second

// countEvery is how often the counts of requests without a known key are written.
const countEvery = time.Minute

// log is where records are sent to.
type log interface {
	ProduceAudit(ctx context.Context, records []kafka.Record) error
}

// TrailDeps are what a trail works with.
type TrailDeps struct {
	Spool   *spool.Spool // the trail's from then on: Close closes it
	Log     log
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: what is measured is not registered
	// CountEvery is how often counts of requests without a known key are written; 0:
	// each minute.
	CountEvery time.Duration
}

// Trail takes up uses of keys. Run sends them.
type Trail struct {
	deps    TrailDeps
	logger  *slog.Logger
	metrics *metrics
	unknown counts
	folds   folds
}

// NewTrail creates one.
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

// Room refuses, as Unavailable, when no more uses can be recorded: the spool is full,
// or cannot be written.
func (t *Trail) Room() error {
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

// Failing reports whether no use can be recorded because the spool's disk fails.
func (t *Trail) Failing() bool { return t.deps.Spool.Failing() }

// Write records a use. When it returns nil the record outlives the process.
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

// Unknown counts a request without a known key.
func (t *Trail) Unknown(ip netip.Addr, status int) {
	t.metrics.unknown.Inc()
	t.unknown.add(ip, status)
}

// Run sends what is in the spool until ctx is done, and then, for a moment, what is
// left. What it does not get sent stays in the spool.
func (t *Trail) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { t.count(ctx); return nil })
	work.Go(func() error { t.probe(ctx); return nil })
	work.Go(func() error { t.ship(ctx); return nil })
	_ = work.Wait() // none fails
	t.writeCounts()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingGrace)
	defer cancel()
	for t.deps.Spool.Pending() > 0 {
		if err := t.send(last); err != nil {
			t.logger.Info("audit records stay in the spool until the next start", "bytes", t.deps.Spool.Pending(), "error", err)
			return nil
		}
	}
	return nil
}

// Close closes the spool.
func (t *Trail) Close() error { return t.deps.Spool.Close() }

// ship sends until ctx is done.
func (t *Trail) ship(ctx context.Context) {
	pace, said := retry.New(firstRetry, lastRetry), time.Time{}
	for ctx.Err() == nil {
		err := t.send(ctx)
		if err == nil {
			pace.Reset()
			if said = (time.Time{}); t.deps.Spool.Pending() < sendBytes {
				sleep.For(ctx, sendGather)
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		t.metrics.unsent.Inc()
		if time.Since(said) >= repeatedLog {
			t.logger.Warn("audit records wait in the spool", "bytes", t.deps.Spool.Pending(), "error", err)
			said = time.Now()
		}
		pace.Wait(ctx)
	}
}

// send waits for records, sends them and has them done when they are acknowledged.
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
		// A copy: after a failure the log may still hold on to it.
		records = append(records, kafka.Record{Workspace: r.Workspace, Value: bytes.Clone(raw), RequestID: r.RequestID})
	}
	limited, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := t.deps.Log.ProduceAudit(limited, records); err != nil {
		return err
	}
	t.metrics.sent.Add(float64(len(records)))
	t.metrics.lastSent.SetToCurrentTime()
	if err := t.deps.Spool.Done(b); err != nil { // what is not noted is sent again after a crash
		t.logger.Warn("how far audit records are sent cannot be noted", "error", err)
	}
	return nil
}

// probe tries whether a spool that failed can be written again.
func (t *Trail) probe(ctx context.Context) {
	for sleep.For(ctx, probeEvery) {
		t.deps.Spool.Probe()
	}
}

// count writes the counts of requests without a known key, now and then.
func (t *Trail) count(ctx context.Context) {
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

// maxCounts bounds the addresses that are told apart in one round; beyond, they are
// counted as one that is not known.
const maxCounts = 1000

type countKey struct {
	ip     netip.Addr
	status int
}

// counts are requests by address and status.
type counts struct {
	mu    sync.Mutex
	since time.Time
	found map[countKey]uint32
}

func (c *counts) add(ip netip.Addr, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found, c.since = map[countKey]uint32{}, time.Now()
	}
	key := countKey{ip.WithZone(""), status}
	if _, known := c.found[key]; !known && len(c.found) >= maxCounts {
		key.ip = netip.Addr{}
	}
	c.found[key]++
}

// take returns the counts and when they began, and resets them.
func (c *counts) take() (since time.Time, found map[countKey]uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, found = c.since, c.found
	c.found = nil
	return since, found
}
