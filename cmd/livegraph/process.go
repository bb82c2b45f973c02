package main

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
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
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

// process is one running process: its stores and its roles.
type process struct {
	cfg        *config.Config
	logger     *slog.Logger
	metrics    *prometheus.Registry
	tls        *tls.Config          // of the listener; nil: plain HTTP
	tracing    trace.TracerProvider // nil: nothing is recorded
	postgres   *postgres.DB
	deciding   *postgres.DB // of the commands consumer alone: reads must not hold up commands
	keys       *postgres.DB // connections of their own: slow work elsewhere must not hold up a key's check
	clickhouse *clickhouse.DB
	kafka      *kafka.Client
	embedders             // none, if no role needs one and none is configured
	oldModel   *oldModel  // nil: no index can need the embedded embedder beside the configured one
	redis      *redis.DB  // nil without a role that needs it
	milvus     *milvus.DB // nil: no address is configured

	api       *api.Server              // without the role api it answers probes alone
	admin     *admin.Admin             // with the role api
	auth      *auth.Authenticator      // with the role api
	routes    *routing.Keeper          // with the role api
	deletions *livedata.DeletionSender // with the role api
	feed      *queries.Feed            // with the role api
	streams   *tail.Hub                // with the role api
	replies   *redis.Replies           // with the role api
	waiter    *commands.Waiter         // with the role api
	repeats   *idempotency.Keeper      // with the role api
	points    *points.Consumer         // nil without the role points
	replays   *replay.Runner           // with the role points
	upkeep    *maintenance.Upkeep      // likewise
	rollups   *rollups.Worker          // nil without the role points
	decisions *decisions.Consumer      // nil without the role commands
	lexical   *lexical.Consumer        // nil without the role embeddings
	trail     *audit.Trail             // with the role api
	uses      *uses.Consumer           // nil without the role audit
	index     *embeddings.Consumer     // nil without the role embeddings
	letters   *pipelineadmin.Watch     // with a role that has dead letters
	install   postgres.Installation
	probes    *telemetry.Prober
}

// newProcess connects to the stores, brings their schemas up to date and builds
// the roles. The caller closes it.
func newProcess(ctx context.Context, cfg *config.Config, logger *slog.Logger, metrics *prometheus.Registry,
	tls *tls.Config, tracing trace.TracerProvider) (_ *process, err error) {
	p := &process{cfg: cfg, logger: logger, metrics: metrics, tls: tls, tracing: tracing}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.embedders, err = openEmbedders(cfg.Embedder); err != nil {
		return nil, err
	}
	if err := p.openStores(ctx); err != nil {
		return nil, err
	}
	if cfg.Has("api") {
		err = p.buildAPI()
	} else {
		p.api, err = api.New(api.Deps{
			Config: cfg.API, Version: version, Ready: p.ready, ProbesOnly: true, Metrics: metrics, TLS: tls,
		})
	}
	if err != nil {
		return nil, err
	}
	if cfg.Has("points") {
		p.points = points.New(points.Deps{
			Log: p.kafka, Points: p.clickhouse, Registry: p.postgres, Logger: logger, Metrics: metrics, Tracing: tracing,
			Config: points.Config{
				Group: cfg.Points.Group, BatchRows: cfg.Points.BatchRows, BatchBytes: cfg.Points.BatchBytes,
				BatchWait: cfg.Points.BatchWait, FetchBytes: cfg.Points.FetchBytes, Grace: consumerGrace,
			},
		})
		p.upkeep = p.newUpkeep()
	}
	if p.points != nil {
		p.replays = p.newReplays()
	}
	if cfg.Has("points") && cfg.Rollups.Enabled {
		p.rollups = rollups.New(rollups.Deps{
			Points: p.clickhouse, Leases: p.postgres, Logger: logger, Metrics: metrics,
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
		p.uses = p.newUses()
	}
	if p.points != nil || p.decisions != nil || p.index != nil || p.uses != nil {
		p.letters = p.newLetterWatch()
	}
	p.probes, err = p.prober(metrics)
	return p, err
}

func (p *process) buildAPI() (err error) {
	p.auth = auth.New(p.keys)
	p.auth.Through(p.redis.NewRevisions(p.install.ID, p.install.CheckpointKey, p.logger))
	p.auth.Register(p.metrics)
	p.routes = routing.New(routing.Deps{Leases: p.postgres, Topic: points.Topic, Logger: p.logger, Seen: func() (
		[16]byte, int32,
	) {
		topic := p.kafka.PointsTopic()
		return topic.ID, topic.Partitions
	}})
	p.deletions = livedata.NewDeletionSender(p.postgres, p.kafka, p.routes)
	p.deletions.Register(p.metrics)
	bodies := request.NewBudget(p.cfg.Ingest.InFlightBytes)
	bodies.Register(p.metrics)
	pipeline := ingest.New(ingest.Deps{
		Sources: p.postgres, Registry: p.postgres, Retention: p.postgres, Log: p.kafka, Routes: p.routes,
		FingerprintKey: p.install.FingerprintKey,
		CacheSize:      p.cfg.Ingest.SeriesCacheSize, Metrics: p.metrics, Tracing: p.tracing,
		Limits: ingest.Limits{
			MaxPoints: p.cfg.Ingest.MaxPoints, InFlightBytes: p.cfg.Ingest.InFlightBytes,
			ProduceTimeout: p.cfg.Ingest.ProduceTimeout,
		},
	})
	p.streams = tail.NewHub(tail.Deps{
		Log: p.kafka, Sources: p.postgres, Routes: p.postgres, Logger: p.logger, Metrics: p.metrics,
		Limits: tail.Limits{
			Streams: p.cfg.Streams.Max, OfWorkspace: p.cfg.Streams.MaxPerWorkspace, OfKey: p.cfg.Streams.MaxPerKey,
			BufferedBytes: p.cfg.Streams.BufferedBytes, ReplayRecords: p.cfg.Streams.ReplayRecords,
		},
	})
	if p.trail, err = p.newTrail(); err != nil {
		return err
	}
	p.repeats = idempotency.New(p.postgres, p.logger, p.metrics)
	limits := ratelimit.New(ratelimit.Deps{
		Counter: p.redis, Timeout: p.cfg.API.LimitsTimeout, Logger: p.logger, Metrics: p.metrics,
	})
	if p.admin, err = p.newAdmin(limits); err != nil {
		return err
	}
	p.api, err = api.New(api.Deps{
		Config: p.cfg.API, Version: version, Keys: p.auth, Account: p.postgres, Audit: p.trail, Limits: limits,
		Admin: p.admin, Ready: p.ready, Metrics: p.metrics, TLS: p.tls, Tracing: p.tracing,
		Routes: slices.Concat(
			p.graphRoutes(bodies), p.searchRoutes(), p.auditRoutes(), p.adminRoutes(),
			livedata.Routes(livedata.Deps{
				Sources: p.postgres, Series: p.postgres, Points: timeseries.New(p.clickhouse), Marks: p.postgres, Dead: p.postgres,
				Pipeline:  pipeline,
				Deletions: p.deletions, Streams: p.streams, Keys: p.repeats,
				TopicID:  func() [16]byte { return p.kafka.PointsTopic().ID },
				TokenKey: p.install.CheckpointKey, Bodies: bodies, Metrics: p.metrics,
				MaxBodyBytes: p.cfg.Ingest.MaxBodyBytes, QueryTimeout: p.cfg.API.QueryTimeout,
			})),
	})
	return err
}

// ready reports whether requests can be served: without Postgres no key can be
// checked. Kafka and ClickHouse may be away for a while; what needs them says so.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if p.trail != nil && p.trail.Failing() {
		return errSpoolFails
	}
	return p.postgres.Ping(ctx)
}

// errSpoolFails says why a process answers no request with a key.
var errSpoolFails = errors.New("the spool of audit records cannot be written")

// run works until ctx is done and then ends in the order of the data: first no
// request is accepted any more and those in flight are answered, then the
// consumer stores what it holds.
func (p *process) run(ctx context.Context, listener net.Listener) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	group, groupCtx := errgroup.WithContext(background)
	group.Go(func() error { return p.probes.Run(groupCtx) })
	group.Go(func() error { return paceCollector(groupCtx) })
	if p.points != nil {
		group.Go(func() error { return p.clickhouse.WatchStorage(groupCtx) })
		group.Go(func() error { return p.points.Run(groupCtx) })
		group.Go(func() error { return p.upkeep.Run(groupCtx) })
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
	if p.oldModel != nil {
		group.Go(func() error { return p.oldModel.Run(groupCtx) })
	}
	group.Go(func() error {
		defer stopBackground()
		p.oldModel.await(ctx)
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

// close lets go of the stores.
func (p *process) close() {
	p.closeAudit()
	p.embedders.close()
	if p.kafka != nil {
		p.kafka.Close()
	}
	if p.clickhouse != nil {
		_ = p.clickhouse.Close()
	}
	if p.redis != nil {
		_ = p.redis.Close()
	}
	if p.milvus != nil {
		_ = p.milvus.Close()
	}
	for _, db := range []*postgres.DB{p.keys, p.deciding, p.postgres} {
		if db != nil {
			db.Close()
		}
	}
}
