// Package load drives Livegraph as its users do, through the public API of several
// processes at a time, keeps a model of what it was answered, and holds what stands in
// the stores against that model.
//
// A [Load] belongs to one world: engines and processes that somebody else starts, harms
// and heals. It works in rounds. [Load.Run] sends requests until it is told to end;
// whatever goes wrong on the way to an answer leaves open what happened, and the model
// then allows both. [Load.Settle] waits until requests are resolved, consumers have
// consumed and indexes have caught up. [Load.Check] then looks for everything that must
// never be, as docs/reliability.md numbers it, and reduces the model to what was found:
// what a round has left open is known from then on, and memory does not grow with the
// length of a run.
//
// What is sent follows from the seed; when it is sent, and so what it meets, does not.
// The same seed asks for the same things of a world in the same trouble, and finds the
// same bug again soon rather than at once.
//
// It does not start, stop or harm anything, and it writes to no store but through the API.
package load

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Stores are reached directly, not through what the processes reach them by: what
// really stands.
type Stores struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn // its database is the world's
	Kafka      []string    // seed brokers
	// KafkaOptions are what else a client of the brokers needs: TLS, SASL.
	KafkaOptions []kgo.Opt
	TopicPrefix  string
	Redis        *redis.Client
	Milvus       string // address; empty: the world runs without
}

// Operator is somebody who may log in on the administration page, as first-run.json
// names one: workspaces and keys are made there.
type Operator struct{ Name, Password string }

// Rate is how many requests of each kind are made a second, over all workspaces. A kind
// with 0 is left out.
type Rate struct {
	Ingest   float64 // of points, overwrites, deletions
	Commands float64 // on the graph, by actors that get into each other's way
	Undo     float64 // by an actor that undoes and redoes all it did
	Reads    float64 // searches, and what is not one's own
	Keys     float64 // made, used, rolled, revoked
}

// DefaultRate is what two cores bear beside the engines and several processes.
func DefaultRate() Rate { return Rate{Ingest: 30, Commands: 30, Undo: 10, Reads: 10, Keys: 2} }

// Share returns a part of the rate, at which two cores bear several worlds; 0 is all of it.
func (r Rate) Share(of float64) Rate {
	if of == 0 {
		return r
	}
	return Rate{
		Ingest: r.Ingest * of, Commands: r.Commands * of, Undo: r.Undo * of, Reads: r.Reads * of, Keys: r.Keys * of,
	}
}

// Bounds are what a process may take when everything has settled.
type Bounds struct {
	Goroutines float64
	OpenFiles  float64
	Resident   float64 // bytes
}

// Config is what a load works with.
type Config struct {
	Seed       uint64
	APIs       []string // base URLs of the API processes, fixed for the whole run
	Metrics    []string // URLs of the metrics of all processes, fixed as well; none: invariant 14 is not looked at
	Admin      Operator
	Workspaces int // at least 2
	Rate       Rate
	Bounds     Bounds // what is 0 has a default
	// ReplayEvery is after how many rounds points are read again from the start of the
	// log, and everything must be as it was; 0: 5, below 0: never.
	ReplayEvery int
	Log         *slog.Logger
}

// Violation is something that must never be.
type Violation struct {
	Invariant int    // its number in docs/reliability.md; 0: it could not be told
	What      string // in one sentence
	Evidence  string
}

// String is the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("invariant %d: %s: %s", v.Invariant, v.What, v.Evidence)
}

// Load drives one world.
type Load struct {
	cfg      Config
	log      *slog.Logger
	client   *client
	operator *operator
	tenants  []*tenant
	uses     *uses
	keys     *keyring
	wrong    *findings
	clock    atomic.Int64 // orders what the model compares
	round    int
	made     int // workspaces, so far
	topic    topicReader
	baseline map[string]Vitals
	quiet    time.Duration
	middle   time.Time                // of the last round, about
	times    map[string]time.Duration // that parts of settling and checking took
}

const (
	setUpLimit = 2 * time.Minute
	// requestLimit is how long an answer is waited for. A server's own waits are shorter.
	requestLimit = 15 * time.Second
)

// New creates the workspaces, keys and actors that the load works with. The world must be
// well.
func New(ctx context.Context, cfg Config) (*Load, error) {
	cfg.setDefaults()
	l := &Load{
		cfg: cfg, log: cfg.Log, wrong: &findings{}, uses: newUses(), keys: newKeyring(),
		baseline: map[string]Vitals{}, quiet: 3 * time.Second,
	}
	l.client = newClient(l, cfg.APIs)
	l.operator = &operator{client: l.client, name: cfg.Admin.Name, password: cfg.Admin.Password}
	ctx, cancel := context.WithTimeout(ctx, setUpLimit)
	defer cancel()
	for i := range cfg.Workspaces {
		t, err := l.newTenant(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("making workspace %d: %w", i, err)
		}
		l.tenants = append(l.tenants, t)
	}
	return l, nil
}

func (c *Config) setDefaults() {
	c.Workspaces = max(c.Workspaces, 2)
	if c.Rate == (Rate{}) {
		c.Rate = DefaultRate()
	}
	if c.ReplayEvery == 0 {
		c.ReplayEvery = 5
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	for _, bound := range []struct {
		value *float64
		usual float64
	}{{&c.Bounds.Goroutines, 3000}, {&c.Bounds.OpenFiles, 2000}, {&c.Bounds.Resident, 2 << 30}} {
		if *bound.value == 0 {
			*bound.value = bound.usual
		}
	}
}

// Round is how many times Run was called.
func (l *Load) Round() int { return l.round }

// Run sends requests until ctx ends, and waits for the answers to those under way. It is
// one round.
func (l *Load) Run(ctx context.Context) {
	l.round++
	began := time.Now()
	defer func() { l.middle = began.Add(time.Since(began) / 2) }()
	var work sync.WaitGroup
	defer work.Wait()
	for _, t := range l.tenants {
		for name, w := range t.workers() {
			if w.perSecond <= 0 {
				continue
			}
			dice := l.dice(t.index, name)
			work.Go(func() { l.drive(ctx, w, dice) })
		}
	}
}

// worker does one thing again and again.
type worker struct {
	perSecond float64
	do        func(ctx context.Context, dice *rand.Rand)
}

// drive has a worker work at its pace, with some unevenness.
func (l *Load) drive(ctx context.Context, w worker, dice *rand.Rand) {
	// A request under way is not cut off at the end of the round: it would only be one
	// more of which nobody knows what came of it.
	going := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		pause := time.Duration((0.5 + dice.Float64()) / w.perSecond * float64(time.Second))
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		w.do(withEnd(going, ctx), dice)
	}
}

// dice returns the random numbers of one worker in this round.
func (l *Load) dice(tenant int, worker string) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d/%s", l.round, tenant, worker)
	return rand.New(rand.NewPCG(l.cfg.Seed, h.Sum64()))
}

// tick returns the next moment of the model's clock.
func (l *Load) tick() int64 { return l.clock.Add(1) }

type endKey struct{}

// withEnd returns a context that outlives the round and knows it: see over.
func withEnd(ctx, round context.Context) context.Context {
	return context.WithValue(ctx, endKey{}, round)
}

// over reports that the round has ended: anyone who tries something again stops.
func over(ctx context.Context) bool {
	round, ok := ctx.Value(endKey{}).(context.Context)
	return ctx.Err() != nil || ok && round.Err() != nil
}

// rest waits before something is tried again; false: the round is over.
func rest(ctx context.Context, d time.Duration) bool {
	round, ok := ctx.Value(endKey{}).(context.Context)
	if !ok {
		round = ctx
	}
	select {
	case <-round.Done():
		return false
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// mostFindings bounds what a check reports: one bug may be seen in a thousand places.
const mostFindings = 50

// findings are what was seen to be wrong while the load ran.
type findings struct {
	mu      sync.Mutex
	found   []Violation
	dropped int
}

func (f *findings) add(invariant int, what, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.found) >= mostFindings {
		f.dropped++
		return
	}
	f.found = append(f.found, Violation{Invariant: invariant, What: what, Evidence: fmt.Sprintf(format, args...)})
}

// take returns what was found since it was asked last.
func (f *findings) take() []Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.found
	if f.dropped > 0 {
		found = append(found, Violation{What: "there was more", Evidence: fmt.Sprintf(
			"%d further violations are not listed", f.dropped,
		)})
	}
	f.found, f.dropped = nil, 0
	return found
}
