// Package process runs the roles of one process: it opens the stores, builds the components
// of each role, runs them, and ends them in order.
package process

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/queries"
	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/internal/app/stores"

	uses "github.com/livegraph/livegraph/consumers/audit"

	decisions "github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/consumers/lexical"
	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/replay"
	"github.com/livegraph/livegraph/consumers/rollups"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/ingest/routing"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/redis"
)

const (
	// storeWait is how long a start waits for a store before it gives up.
	storeWait  = 60 * time.Second
	storeRetry = 500 * time.Millisecond
	// consumerGrace is what the consumer has to store and commit at the end.
	consumerGrace = 5 * time.Second
	keyConns      = 4
	readyLimit    = 500 * time.Millisecond
)

// Process is one running process: its stores and its roles.
type Process struct {
	Cfg              *config.Config
	version          string // of the binary
	Logger           *slog.Logger
	Metrics          *prometheus.Registry
	tls              *tls.Config          // of the listener; nil: plain HTTP
	tracing          trace.TracerProvider // nil: nothing is recorded
	Postgres         *postgres.DB
	deciding         *postgres.DB // of the commands consumer alone: reads must not hold up commands
	keys             *postgres.DB // connections of their own: slow work elsewhere must not hold up a key's check
	Clickhouse       *clickhouse.DB
	Kafka            *kafka.Client
	stores.Embedders                // none, if no role needs one and none is configured
	indexEmbedder    *indexEmbedder // nil: no index can need the embedded embedder beside the configured one
	Redis            *redis.DB      // nil without a role that needs it
	Milvus           *milvus.DB     // nil: no address is configured

	api         *api.Server              // without the role api it answers probes alone
	admin       *admin.Admin             // with the role api
	auth        *auth.Authenticator      // with the role api
	routes      *routing.Keeper          // with the role api
	deletions   *livedata.DeletionSender // with the role api
	feed        *queries.Feed            // with the role api
	streams     *tail.Hub                // with the role api
	Replies     *redis.Replies           // with the role api
	Waiter      *commands.Waiter         // with the role api
	Repeats     *idempotency.Keeper      // with the role api
	points      *points.Consumer         // nil without the role points
	replays     *replay.Runner           // with the role points
	maintenance *maintenance.Upkeep      // likewise
	rollups     *rollups.Worker          // nil without the role points
	decisions   *decisions.Consumer      // nil without the role commands
	lexical     *lexical.Consumer        // nil without the role embeddings
	trail       *audit.Trail             // with the role api
	audit       *uses.Consumer           // nil without the role audit
	index       *embeddings.Consumer     // nil without the role embeddings
	letters     *pipelineadmin.Watch     // with a role that has dead letters
	Install     postgres.Installation
	probes      *telemetry.Prober
}

// New connects to the stores, brings their schemas up to date and builds
// the roles. The caller closes it.
func New(ctx context.Context, cfg *config.Config, version string, logger *slog.Logger, metrics *prometheus.Registry,
	tls *tls.Config, tracing trace.TracerProvider) (_ *Process, err error) {
	p := &Process{Cfg: cfg, version: version, Logger: logger, Metrics: metrics, tls: tls, tracing: tracing}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.Embedders, err = stores.OpenEmbedders(cfg.Embedder); err != nil {
		return nil, err
	}
	if err := p.openStores(ctx); err != nil {
		return nil, err
	}
	if cfg.Has("api") {
		err = p.buildAPI()
	} else {
		p.api, err = api.New(api.Deps{
			Config: cfg.API, Version: p.version, Ready: p.ready, ProbesOnly: true, Metrics: metrics, TLS: tls,
		})
	}
	if err != nil {
		return nil, err
	}
	if cfg.Has("points") {
		p.points = points.New(points.Deps{
			Log: p.Kafka, Points: p.Clickhouse, Registry: p.Postgres, Logger: logger, Metrics: metrics, Tracing: tracing,
			Config: points.Config{
				Group: cfg.Points.Group, BatchRows: cfg.Points.BatchRows, BatchBytes: cfg.Points.BatchBytes,
				BatchWait: cfg.Points.BatchWait, FetchBytes: cfg.Points.FetchBytes, Grace: consumerGrace,
			},
		})
		p.maintenance = p.newMaintenance()
	}
	if p.points != nil {
		p.replays = p.newReplays()
	}
	if cfg.Has("points") && cfg.Rollups.Enabled {
		p.rollups = rollups.New(rollups.Deps{
			Points: p.Clickhouse, Leases: p.Postgres, Logger: logger, Metrics: metrics,
			Config: rollups.Config{Quiet: cfg.Rollups.Quiet, Late: cfg.Rollups.Late},
		})
	}
	if cfg.Has("commands") {
		p.decisions = p.newDecisions()
	}
	if cfg.Has("embeddings") {
		p.lexical, p.index = p.newLexical(), p.newIndex()
	}
	if cfg.Has("audit") {
		p.audit = p.newAudit()
	}
	if p.points != nil || p.decisions != nil || p.index != nil || p.audit != nil {
		p.letters = p.newLetterWatch()
	}
	p.probes, err = p.prober(metrics)
	return p, err
}

func (p *Process) buildAPI() (err error) {
	p.auth = auth.New(p.keys)
	p.auth.Through(p.Redis.NewRevisions(p.Install.ID, p.Install.CheckpointKey, p.Logger))
	p.auth.Register(p.Metrics)
	p.routes = routing.New(routing.Deps{Leases: p.Postgres, Topic: points.Topic, Logger: p.Logger, Seen: func() (
		[16]byte, int32,
	) {
		topic := p.Kafka.PointsTopic()
		return topic.ID, topic.Partitions
	}})
	p.deletions = livedata.NewDeletionSender(p.Postgres, p.Kafka, p.routes)
	p.deletions.Register(p.Metrics)
	bodies := request.NewBudget(p.Cfg.Ingest.InFlightBytes)
	bodies.Register(p.Metrics)
	pipeline := ingest.New(ingest.Deps{
		Sources: p.Postgres, Registry: p.Postgres, Retention: p.Postgres, Log: p.Kafka, Routes: p.routes,
		FingerprintKey: p.Install.FingerprintKey,
		CacheSize:      p.Cfg.Ingest.SeriesCacheSize, Metrics: p.Metrics, Tracing: p.tracing,
		Limits: ingest.Limits{
			MaxPoints: p.Cfg.Ingest.MaxPoints, InFlightBytes: p.Cfg.Ingest.InFlightBytes,
			ProduceTimeout: p.Cfg.Ingest.ProduceTimeout,
		},
	})
	p.streams = tail.NewHub(tail.Deps{
		Log: p.Kafka, Sources: p.Postgres, Routes: p.Postgres, Logger: p.Logger, Metrics: p.Metrics,
		Limits: tail.Limits{
			Streams: p.Cfg.Streams.Max, OfWorkspace: p.Cfg.Streams.MaxPerWorkspace, OfKey: p.Cfg.Streams.MaxPerKey,
			BufferedBytes: p.Cfg.Streams.BufferedBytes, ReplayRecords: p.Cfg.Streams.ReplayRecords,
		},
	})
	if p.trail, err = p.newTrail(); err != nil {
		return err
	}
	p.Repeats = idempotency.New(p.Postgres, p.Logger, p.Metrics)
	limits := ratelimit.New(ratelimit.Deps{
		Counter: p.Redis, Timeout: p.Cfg.API.LimitsTimeout, Logger: p.Logger, Metrics: p.Metrics,
	})
	if p.admin, err = p.newAdmin(limits); err != nil {
		return err
	}
	p.api, err = api.New(api.Deps{
		Config: p.Cfg.API, Version: p.version, Keys: p.auth, Account: p.Postgres, Audit: p.trail, Limits: limits,
		Admin: p.admin, Ready: p.ready, Metrics: p.Metrics, TLS: p.tls, Tracing: p.tracing,
		Routes: slices.Concat(
			p.GraphRoutes(bodies), p.SearchRoutes(), p.auditRoutes(), p.adminRoutes(),
			livedata.Routes(livedata.Deps{
				Sources: p.Postgres, Series: p.Postgres, Points: p.Clickhouse, Marks: p.Postgres, Dead: p.Postgres,
				Pipeline:  pipeline,
				Deletions: p.deletions, Streams: p.streams, Keys: p.Repeats,
				TopicID:  func() [16]byte { return p.Kafka.PointsTopic().ID },
				TokenKey: p.Install.CheckpointKey, Bodies: bodies, Metrics: p.Metrics,
				MaxBodyBytes: p.Cfg.Ingest.MaxBodyBytes, QueryTimeout: p.Cfg.API.QueryTimeout,
			})),
	})
	return err
}

// ready reports whether requests can be served: without Postgres no key can be
// checked. Kafka and ClickHouse may be away for a while; what needs them says so.
func (p *Process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if p.trail != nil && p.trail.Failing() {
		return errSpoolFails
	}
	return p.Postgres.Ping(ctx)
}

// errSpoolFails says why a process answers no request with a key.
var errSpoolFails = errors.New("the spool of audit records cannot be written")

// Run works until ctx is done and then ends in the order of the data: first no
// request is accepted any more and those in flight are answered, then the
// consumer stores what it holds.
func (p *Process) Run(ctx context.Context, listener net.Listener) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	group, groupCtx := errgroup.WithContext(background)
	group.Go(func() error { return p.probes.Run(groupCtx) })
	group.Go(func() error { return paceCollector(groupCtx) })
	if p.points != nil {
		group.Go(func() error { return p.Clickhouse.WatchStorage(groupCtx) })
		group.Go(func() error { return p.points.Run(groupCtx) })
		group.Go(func() error { return p.maintenance.Run(groupCtx) })
	}
	if p.rollups != nil {
		group.Go(func() error { return p.rollups.Run(groupCtx) })
	}
	if p.auth != nil {
		group.Go(func() error { return p.auth.Run(groupCtx) })
		group.Go(func() error { return p.routes.Run(groupCtx) })
		group.Go(func() error { return p.deletions.Run(groupCtx) })
		group.Go(func() error { return p.streams.Run(groupCtx) })
		group.Go(func() error { return p.admin.Run(groupCtx) })
	}
	p.runGraph(groupCtx, group)
	p.runAudit(groupCtx, group)
	p.runIndex(groupCtx, group)
	p.runOperations(groupCtx, group)
	if p.indexEmbedder != nil {
		group.Go(func() error { return p.indexEmbedder.Run(groupCtx) })
	}
	group.Go(func() error {
		defer stopBackground()
		p.indexEmbedder.await(ctx)
		serving, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(groupCtx, cancel)()
		return p.api.Serve(serving, listener)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Close lets go of the stores.
func (p *Process) Close() {
	p.closeAudit()
	p.Embedders.Close()
	if p.Kafka != nil {
		p.Kafka.Close()
	}
	if p.Clickhouse != nil {
		_ = p.Clickhouse.Close()
	}
	if p.Redis != nil {
		_ = p.Redis.Close()
	}
	if p.Milvus != nil {
		_ = p.Milvus.Close()
	}
	for _, db := range []*postgres.DB{p.keys, p.deciding, p.Postgres} {
		if db != nil {
			db.Close()
		}
	}
}
