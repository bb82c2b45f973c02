// Package load sends requests to the public API of several Livegraph processes at a time, keeps a
// model of the answers, and compares the contents of the stores with that model.
//
// A [Load] belongs to one environment: engines and processes that other code starts, breaks and
// repairs. It works in rounds. [Load.Run] sends requests until its context ends. When a request
// fails before its answer arrives, its outcome is unknown, and the model allows both outcomes.
// [Load.Settle] waits until requests are resolved, consumers have consumed and indexes have caught
// up. [Load.Check] then checks the invariants of docs/reliability.md and reduces the model to the
// observed state: the unknown outcomes of the round become known, and memory does not grow with the
// length of a run.
//
// The requests are determined by the seed; their timing, and so which faults they meet, is not. A
// run with the same seed sends the same requests under the same faults, and usually finds the same
// bug again after some time.
//
// The package does not start, stop or break anything, and writes to the stores only through the
// API.
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

// Stores are direct connections to the stores, past the proxies that the processes use.
type Stores struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn // connected to the database of the environment
	Kafka      []string    // seed brokers
	// KafkaOptions are further options for clients of the brokers: TLS, SASL.
	KafkaOptions []kgo.Opt
	TopicPrefix  string
	Redis        *redis.Client
	Milvus       string // address; empty: the environment has no Milvus
}

// Operator is an administrator of first-run.json, who logs in to the admin UI and creates
// workspaces and keys there.
type Operator struct{ Name, Password string }

// Rate is the number of requests of each kind per second, over all workspaces. A kind with rate 0
// is left out.
type Rate struct {
	Ingest   float64 // of points, overwrites, deletions
	Commands float64 // on the graph, by actors that change the same nodes and edges
	Undo     float64 // by an actor that undoes and redoes all of its own commands
	Reads    float64 // searches, and requests for data of other workspaces
	Keys     float64 // created, used, rolled, revoked
}

// DefaultRate returns the rate that two cores can handle beside the engines and several processes.
func DefaultRate() Rate { return Rate{Ingest: 30, Commands: 30, Undo: 10, Reads: 10, Keys: 2} }

// Share returns the rate multiplied by factor, for several environments on two cores. A factor of 0
// returns the rate unchanged.
func (r Rate) Share(factor float64) Rate {
	if factor == 0 {
		return r
	}
	return Rate{
		Ingest: r.Ingest * factor, Commands: r.Commands * factor, Undo: r.Undo * factor, Reads: r.Reads * factor,
		Keys: r.Keys * factor,
	}
}

// Bounds are the maximum resources of a process when everything has settled.
type Bounds struct {
	Goroutines float64
	OpenFiles  float64
	Resident   float64 // bytes
}

// Config configures a Load.
type Config struct {
	Seed       uint64
	APIs       []string // base URLs of the API processes; they do not change during the run
	Metrics    []string // metrics URLs of all processes, which do not change either; empty: invariant 14 is not checked
	Admin      Operator
	Workspaces int // at least 2
	Rate       Rate
	Bounds     Bounds // fields that are 0 get a default
	// ReplayEvery is the number of rounds between replays of all points from the start of the log,
	// which must not change anything; 0: 5, negative: never.
	ReplayEvery int
	// Failover makes the load prefer API processes that answered their last request, like a load
	// balancer. Otherwise, it sends requests to all of them in turn.
	Failover bool
	Log      *slog.Logger
}

// Violation is a violated invariant.
type Violation struct {
	Invariant int    // its number in docs/reliability.md; 0: unknown
	What      string // in one sentence
	Evidence  string
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("invariant %d: %s: %s", v.Invariant, v.What, v.Evidence)
}

// Load sends requests to one environment, and checks it.
type Load struct {
	cfg           Config
	log           *slog.Logger
	client        *client
	operator      *operator
	tenants       []*tenant
	requests      *requestRecords
	revoked       *revokedKeys
	findings      *findings
	clock         atomic.Int64 // logical clock of the model
	round         int
	created       int // number of workspaces created so far
	topic         topicReader
	baseline      map[string]Vitals
	quietPeriod   time.Duration
	roundMidpoint time.Time                // approximate middle of the last round
	durations     map[string]time.Duration // of the steps of settling and checking
}

const (
	setupTimeout = 2 * time.Minute
	// requestTimeout bounds the wait for an answer. The server's own timeouts are shorter.
	requestTimeout = 15 * time.Second
)

// New creates the workspaces, keys and actors that the load uses. All parts of the environment must
// be available.
func New(ctx context.Context, cfg Config) (*Load, error) {
	cfg.setDefaults()
	l := &Load{
		cfg: cfg, log: cfg.Log, findings: &findings{}, requests: newRequestRecords(), revoked: newRevokedKeys(),
		baseline: map[string]Vitals{}, quietPeriod: 3 * time.Second,
	}
	l.client = newClient(l, cfg.APIs)
	l.operator = &operator{client: l.client, name: cfg.Admin.Name, password: cfg.Admin.Password}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
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
		value    *float64
		fallback float64
	}{{&c.Bounds.Goroutines, 3000}, {&c.Bounds.OpenFiles, 2000}, {&c.Bounds.Resident, 2 << 30}} {
		if *bound.value == 0 {
			*bound.value = bound.fallback
		}
	}
}

// Round returns the number of calls of Run.
func (l *Load) Round() int { return l.round }

// Run runs one round: it sends requests until ctx ends, then waits for the answers of requests in
// flight.
func (l *Load) Run(ctx context.Context) {
	l.round++
	began := time.Now()
	defer func() { l.roundMidpoint = began.Add(time.Since(began) / 2) }()
	var work sync.WaitGroup
	defer work.Wait()
	for _, t := range l.tenants {
		for name, w := range t.workers() {
			if w.perSecond <= 0 {
				continue
			}
			dice := l.newRand(t.index, name)
			work.Go(func() { l.drive(ctx, w, dice) })
		}
	}
}

// worker repeats one action.
type worker struct {
	perSecond float64
	do        func(ctx context.Context, dice *rand.Rand)
}

// drive runs the action of w at its rate, with random jitter, until ctx ends.
func (l *Load) drive(ctx context.Context, w worker, dice *rand.Rand) {
	// A request in flight is not cancelled at the end of the round: that would only be one more request
	// with an unknown outcome.
	outlasting := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		pause := time.Duration((0.5 + dice.Float64()) / w.perSecond * float64(time.Second))
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		w.do(withRound(outlasting, ctx), dice)
	}
}

// newRand returns the random number generator of one worker in this round.
func (l *Load) newRand(tenant int, worker string) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d/%s", l.round, tenant, worker)
	return rand.New(rand.NewPCG(l.cfg.Seed, h.Sum64()))
}

// tick returns the next time of the model's logical clock.
func (l *Load) tick() int64 { return l.clock.Add(1) }

type roundKey struct{}

// withRound returns a context that outlives the round and carries its context for roundOver.
func withRound(ctx, round context.Context) context.Context {
	return context.WithValue(ctx, roundKey{}, round)
}

// roundOver reports whether the round has ended; retries then stop.
func roundOver(ctx context.Context) bool {
	round, ok := ctx.Value(roundKey{}).(context.Context)
	return ctx.Err() != nil || ok && round.Err() != nil
}

// sleep waits for d before a retry. It returns false if the round ended.
func sleep(ctx context.Context, d time.Duration) bool {
	round, ok := ctx.Value(roundKey{}).(context.Context)
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

// maxFindings bounds the violations that a check reports: one bug may be seen in a thousand places.
const maxFindings = 50

// findings are the violations that were found while the load ran.
type findings struct {
	mu      sync.Mutex
	found   []Violation
	dropped int
}

func (f *findings) add(invariant int, what, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.found) >= maxFindings {
		f.dropped++
		return
	}
	f.found = append(f.found, Violation{Invariant: invariant, What: what, Evidence: fmt.Sprintf(format, args...)})
}

// drain returns the violations that were found since the last call.
func (f *findings) drain() []Violation {
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
