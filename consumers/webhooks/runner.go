package webhooks

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

const (
	defaultConcurrency = 64
	perWebhook         = 4 // deliveries to a webhook at the same time
	defaultTimeout     = 10 * time.Second
	defaultPoll        = 500 * time.Millisecond
	claimSpacing       = 20 * time.Millisecond // between two claims
	defaultGrace       = 5 * time.Second
	claimMargin        = 20 * time.Second // for which a delivery is claimed beyond the timeout of the request
	storeTimeout       = 5 * time.Second
	failingFor         = 10 * time.Minute // a webhook is assumed to fail after its last failure
	pruneInterval      = 10 * time.Minute
	keepFor            = 7 * 24 * time.Hour
	pruneRows          = 5_000
)

// MaxAttempts is the number of attempts of a delivery.
const MaxAttempts = 10

// Backoff returns the time between an attempt, from 1, and the next one: 10 s, and three times as long after each
// further one, each by up to a half more or less. The last attempt is about 27 hours after the first.
func Backoff(attempt int) time.Duration {
	delay := 10 * time.Second
	for range attempt - 1 {
		delay *= 3
	}
	return sleep.Jitter(delay)
}

// Store has the queue; see storage/postgres/hooks.
type Store interface {
	ClaimDeliveries(ctx context.Context, c hooks.Claims) ([]hooks.Claim, error)
	FinishAttempt(ctx context.Context, c *hooks.Claim, a hooks.Attempt) error
	ReleaseClaim(ctx context.Context, c *hooks.Claim) error
	PruneDeliveries(ctx context.Context, age time.Duration, limit int) (removed int64, err error)
}

// Deps are the dependencies and settings of a Runner. Zero values of settings have defaults.
type Deps struct {
	Store  Store
	Client *http.Client // refuses private addresses and follows no redirects; see internal/platform/outbound
	// Concurrency is the maximum number of deliveries that are sent at the same time; 0: 64.
	Concurrency int
	Timeout     time.Duration // of a request; 0: 10 s
	Poll        time.Duration // interval of polls for due deliveries; 0: 500 ms
	// ClaimFor is how long another process does not send a delivery that this one began to send; 0: 30 s. It must be
	// longer than Timeout.
	ClaimFor time.Duration
	Grace    time.Duration                   // for which requests may go on when the process stops; 0: 5 s
	Backoff  func(attempt int) time.Duration // nil: Backoff
	Logger   *slog.Logger                    // nil: slog.Default()
	Metrics  prometheus.Registerer           // nil: metrics are not registered
}

// Runner sends deliveries. Runners of several processes share them.
type Runner struct {
	Deps
	metrics *metrics
	ended   chan struct{} // has an element if a delivery ended

	mu      sync.Mutex
	sending map[uuid.UUID]int       // webhooks with their deliveries that are being sent
	failing map[uuid.UUID]time.Time // webhooks whose last attempt failed, and when
}

// New creates a Runner. It does nothing until Run is called.
func New(deps Deps) *Runner {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	deps.Logger = deps.Logger.With("component", "webhooks")
	if deps.Concurrency <= 0 {
		deps.Concurrency = defaultConcurrency
	}
	if deps.Timeout <= 0 {
		deps.Timeout = defaultTimeout
	}
	if deps.Poll <= 0 {
		deps.Poll = defaultPoll
	}
	if deps.ClaimFor <= 0 {
		deps.ClaimFor = deps.Timeout + claimMargin
	}
	if deps.Grace <= 0 {
		deps.Grace = defaultGrace
	}
	if deps.Backoff == nil {
		deps.Backoff = Backoff
	}
	return &Runner{
		Deps: deps, metrics: newMetrics(deps.Metrics), ended: make(chan struct{}, 1),
		sending: map[uuid.UUID]int{}, failing: map[uuid.UUID]time.Time{},
	}
}

// Run sends deliveries and removes old ones until ctx is done. Then it waits for requests that were sent, for at most
// Deps.Grace, and returns nil.
func (r *Runner) Run(ctx context.Context) error {
	var work errgroup.Group
	work.Go(func() error { r.deliver(ctx); return nil })
	work.Go(func() error { r.prune(ctx); return nil })
	return work.Wait()
}

// deliver claims and sends deliveries until ctx is done.
func (r *Runner) deliver(ctx context.Context) {
	sendCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(r.Grace, cancel) })
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	log := outage.Log{Failed: "webhooks are not delivered", Recovered: "webhooks are delivered again"}
	for ctx.Err() == nil {
		claims, err := r.claim(ctx)
		log.Note(ctx, r.Logger, err)
		for i := range claims {
			running.Go(func() { r.process(sendCtx, &claims[i]) })
		}
		r.wait(ctx, len(claims) > 0)
	}
}

// claim claims as many deliveries as can be sent now.
func (r *Runner) claim(ctx context.Context) ([]hooks.Claim, error) {
	r.mu.Lock()
	free := r.Concurrency
	busy := make(map[uuid.UUID]int, len(r.sending)+len(r.failing))
	for id, at := range r.failing {
		if time.Since(at) > failingFor {
			delete(r.failing, id)
			continue
		}
		busy[id] = perWebhook - 1 // one at a time, so that timeouts of few webhooks do not use all of Concurrency
	}
	for id, n := range r.sending {
		free -= n
		busy[id] += n
	}
	r.mu.Unlock()
	if free <= 0 {
		return nil, nil
	}
	claims, err := r.Store.ClaimDeliveries(ctx, hooks.Claims{
		Max: free, PerWebhook: perWebhook, For: r.ClaimFor, Busy: busy,
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range claims {
		r.sending[claims[i].Webhook]++
	}
	r.metrics.inFlight.Add(float64(len(claims)))
	return claims, nil
}

// wait waits for the time of the next claim: the next poll, or the end of a delivery if more are probably due.
func (r *Runner) wait(ctx context.Context, more bool) {
	if !more {
		r.mu.Lock()
		more = len(r.sending) > 0
		r.mu.Unlock()
	}
	timer := time.NewTimer(sleep.Jitter(r.Poll))
	defer timer.Stop()
	var ended chan struct{} // nil: is never received from
	if more {
		ended = r.ended
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-ended:
		sleep.For(ctx, claimSpacing)
	}
}

// process sends a delivery and stores the outcome.
func (r *Runner) process(ctx context.Context, c *hooks.Claim) {
	expires := time.Now().Add(r.ClaimFor)
	failed := false
	defer func() {
		r.mu.Lock()
		if r.sending[c.Webhook]--; r.sending[c.Webhook] <= 0 {
			delete(r.sending, c.Webhook)
		}
		if delete(r.failing, c.Webhook); failed {
			r.failing[c.Webhook] = time.Now()
		}
		r.mu.Unlock()
		r.metrics.inFlight.Dec()
		select {
		case r.ended <- struct{}{}:
		default:
		}
	}()
	start := time.Now()
	attempt := r.attempt(ctx, c)
	if ctx.Err() != nil && attempt.State != hooks.Delivered { // the process stops: nobody knows what the receiver did
		r.store(ctx, expires, func(ctx context.Context) error { return r.Store.ReleaseClaim(ctx, c) })
		return
	}
	failed = attempt.State != hooks.Delivered
	r.metrics.duration.Observe(time.Since(start).Seconds())
	r.metrics.attempts.WithLabelValues(outcome(attempt.State)).Inc()
	if attempt.Disable != "" {
		r.metrics.disabled.Inc()
		r.Logger.Info("a webhook is disabled", "workspace", c.Workspace, "webhook", c.Webhook, "reason", attempt.Disable)
	}
	r.store(ctx, expires, func(ctx context.Context) error { return r.Store.FinishAttempt(ctx, c, attempt) })
}

func outcome(s hooks.State) string {
	if s == hooks.Pending {
		return "retried"
	}
	return string(s)
}

// store calls write until it succeeds or the claim expires. After that the delivery is sent again, maybe by another
// process. When ctx is done, write is tried once more.
func (r *Runner) store(ctx context.Context, expires time.Time, write func(context.Context) error) {
	for {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		err := write(limited)
		cancel()
		if err == nil {
			return
		}
		if !sleep.For(ctx, sleep.Jitter(r.Poll)) || time.Now().After(expires) {
			r.Logger.Warn("the outcome of a delivery is not stored, it is sent again", "error", err)
			return
		}
	}
}

// prune removes old deliveries until ctx is done.
func (r *Runner) prune(ctx context.Context) {
	log := outage.Log{Failed: "old deliveries are not removed", Recovered: "old deliveries are removed again"}
	for {
		removed, err := r.Store.PruneDeliveries(ctx, keepFor, pruneRows)
		log.Note(ctx, r.Logger, err)
		pause := pruneInterval
		if err == nil && removed >= pruneRows { // there may be more
			pause = time.Second
		}
		if !sleep.For(ctx, sleep.Jitter(pause)) {
			return
		}
	}
}
