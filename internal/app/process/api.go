package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/auth"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/mcp"
	"github.com/livegraph/livegraph/api/otlpgrpc"
	"github.com/livegraph/livegraph/api/promql"
	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// addAPI adds the API and its background components.
func (b *builder) addAPI() error {
	keys := b.newAuthenticator()
	trail, err := b.newTrail()
	if err != nil {
		return err
	}
	limits := ratelimit.New(ratelimit.Deps{
		Counter: b.Redis, Timeout: b.Config.API.LimitsTimeout, Logger: b.Logger, Metrics: b.Metrics,
	})
	operators, err := b.newAdmin(limits)
	if err != nil {
		return err
	}
	bodies := request.NewBudget(b.Config.Ingest.InFlightBytes)
	bodies.Register(b.Metrics)
	idempotencyKeys := idempotency.New(b.Postgres, b.Logger, b.Metrics)
	live := b.pointRoutes(bodies, idempotencyKeys)
	graph := NewGraphAPI(&b.Options, &b.Stores, idempotencyKeys, bodies)
	var server *api.Server
	agents := mcp.Route(mcp.Deps{
		Version: b.Version, Timeout: b.Config.API.QueryTimeout,
		Handler: func() http.Handler { return server.Handler() }, // it calls the other routes
	})
	server, err = api.New(api.Deps{
		Config: b.Config.API, Version: b.Version, Keys: keys, Account: b.Postgres, Audit: trail, Limits: limits,
		Admin: operators, Ready: b.ready(trail), Metrics: b.Metrics, TLS: b.TLS, Tracing: b.Tracing,
		Routes: slices.Concat(
			graph.Routes, SearchRoutes(&b.Options, &b.Stores, idempotencyKeys), audit.Routes(b.auditDeps()),
			b.adminRoutes(operators), live,
			b.promqlRoutes(), RuleRoutes(b.Config, b.Postgres, b.outbound()), WebhookRoutes(b.Postgres, b.outbound()),
			AnalysisRoutes(b.Postgres, idempotencyKeys), []route.Route{agents},
		),
	})
	if err != nil {
		return err
	}
	b.serve = server.Serve
	if address := b.Config.API.OTLPGRPCListen; address != "" {
		b.add("OTLP over gRPC", func(ctx context.Context) error { return b.serveOTLP(ctx, address, server) })
	}
	b.add("key revisions", keys.Run)
	b.add("administration", operators.Run)
	b.add("command replies", graph.Replies.Run)
	b.add("command outcomes", graph.Waiter.Run)
	b.add("idempotency keys", idempotencyKeys.Run)
	b.add("graph feed", graph.Feed.Run)
	if b.Replica != nil {
		b.add("replica of Postgres", b.Replica.Run)
	}
	b.add("audit trail", trail.Run)
	return nil
}

// addProbeServer adds the server of a process without role api, which answers only probes.
func (b *builder) addProbeServer() error {
	server, err := api.New(api.Deps{
		Config: b.Config.API, Version: b.Version, Ready: b.ready(nil), ProbesOnly: true, Metrics: b.Metrics, TLS: b.TLS,
	})
	if err != nil {
		return err
	}
	b.serve = server.Serve
	return nil
}

// serveOTLP serves metrics over gRPC at the address.
func (b *builder) serveOTLP(ctx context.Context, address string, server *api.Server) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("cannot listen for OTLP over gRPC on %s: %w (change --api-otlp-grpc-listen)", address, err)
	}
	b.Logger.Info("OpenTelemetry exporters can send metrics over gRPC", "address", listener.Addr().String())
	otlp := otlpgrpc.Server{
		Handler: server.Handler(), Path: livedata.OTLPPath, TLS: b.TLS, ShutdownTimeout: b.Config.API.ShutdownTimeout,
	}
	return otlp.Serve(ctx, listener)
}

// newAuthenticator creates the authenticator, which checks keys.
func (b *builder) newAuthenticator() *auth.Authenticator {
	keys := auth.New(b.Keys)
	keys.UseChannel(b.Redis.NewRevisions(b.Installation.ID, b.Installation.CheckpointKey, b.Logger))
	keys.Register(b.Metrics)
	return keys
}

// pointRoutes returns the routes of live data and adds their background components.
func (b *builder) pointRoutes(bodies *request.Budget, idempotencyKeys *idempotency.Manager) []route.Route {
	in := b.pointIntake()
	deletions := livedata.NewDeletionSender(b.Postgres, b.Kafka, in.routes)
	deletions.Register(b.Metrics)
	streams := tail.NewHub(tail.Deps{
		Log: b.Kafka, Sources: b.Postgres, Routes: b.Postgres, Logger: b.Logger, Metrics: b.Metrics,
		Limits: tail.Limits{
			Streams: b.Config.Streams.Max, PerWorkspace: b.Config.Streams.MaxPerWorkspace, PerKey: b.Config.Streams.MaxPerKey,
			BufferedBytes: b.Config.Streams.BufferedBytes, ReplayRecords: b.Config.Streams.ReplayRecords,
		},
	})
	b.add("deletions", deletions.Run)
	b.add("streams", streams.Run)
	return livedata.Routes(livedata.Deps{
		Sources: b.Postgres, Series: b.Postgres, Points: timeseries.New(b.ClickHouse), Watermarks: b.Postgres,
		DeadRecords: b.Postgres,
		Pipeline:    in.pipeline,
		Deletions:   deletions, Streams: streams, Keys: idempotencyKeys,
		TopicID:  func() [16]byte { return b.Kafka.PointsTopic().ID },
		TokenKey: b.Installation.CheckpointKey, Bodies: bodies, Metrics: b.Metrics,
		MaxBodyBytes: b.Config.Ingest.MaxBodyBytes, QueryTimeout: b.Config.API.QueryTimeout,
	})
}

// promqlRoutes returns the routes of Prometheus' API for reading.
func (b *builder) promqlRoutes() []route.Route {
	cfg := &b.Config.PromQL
	return promql.Routes(promql.Deps{
		Store:    b.promStorage(),
		Metadata: b.Postgres, Rules: b.Postgres, Version: b.Version, MaxSamples: cfg.MaxSamples, Windows: cfg.Windows,
		QueryTimeout: b.Config.API.QueryTimeout,
		Logger:       b.Logger, Metrics: b.Metrics,
	})
}

// errSpoolFails is the reason why a process refuses all requests with a key.
var errSpoolFails = errors.New("the spool of audit records cannot be written")

// ready returns the readiness check. It requires Postgres, because no key can be checked
// without it. Kafka and ClickHouse may be unavailable for a while; requests that need them
// return an error. trail is nil without role api.
func (b *builder) ready(trail *audit.Trail) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		if trail != nil && trail.Failing() {
			return errSpoolFails
		}
		return b.Postgres.Ping(ctx)
	}
}
