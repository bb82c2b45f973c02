package process

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/deleted"
	"github.com/livegraph/livegraph/api/route"
	ruleroutes "github.com/livegraph/livegraph/api/rules"
	"github.com/livegraph/livegraph/consumers/points"
	"github.com/livegraph/livegraph/consumers/rules"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/ingest/described"
	"github.com/livegraph/livegraph/ingest/routing"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/outbound"
	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// addRules adds the evaluation of rules.
func (b *builder) addRules() error {
	cfg := &b.Config.Rules
	runner := rules.New(rules.Deps{
		Store: b.Postgres, Series: b.promStorage(), Write: writePoints(b.pointIntake().pipeline), Watermarks: b.Postgres,
		TopicID:  func() [16]byte { return b.Kafka.PointsTopic().ID },
		Notify:   b.webhookQueue().NotifyAlerts,
		Client:   b.outbound().Client,
		Engine:   promengine.Options{MaxSamples: b.Config.PromQL.MaxSamples, Timeout: b.Config.API.QueryTimeout},
		Interval: cfg.Interval, QueryOffset: cfg.QueryOffset, Concurrency: cfg.Concurrency,
		Logger: b.Logger, Metrics: b.Metrics,
	})
	b.add("rules", runner.Run)
	return nil
}

// RuleRoutes creates the routes of files of rules.
func RuleRoutes(cfg *config.Config, db *pgstores.DB, guard *outbound.Guard) []route.Route {
	return ruleroutes.Routes(ruleroutes.Deps{
		Store: db, MinInterval: cfg.Rules.MinInterval, CheckURL: guard.CheckURL,
	})
}

// writePoints returns a function that writes requests of remote write.
func writePoints(pipeline *ingest.Pipeline) func(context.Context, uuid.UUID, []byte) (rules.Written, error) {
	return func(ctx context.Context, workspace uuid.UUID, body []byte) (written rules.Written, err error) {
		result, err := pipeline.Accept(ctx, ingest.RemoteWrite, ingest.Request{
			Workspace: workspace, RequestID: "rules_" + uuid.NewString(), ReceivedAt: time.Now(), Body: body,
		})
		written = rules.Written{Accepted: result.Accepted, Rejected: result.Rejected, Positions: result.Positions}
		if len(result.Errors) > 0 {
			written.Reason = result.Errors[0].Field + ": " + result.Errors[0].Reason
		}
		return written, err
	}
}

// intake accepts points into the log.
type intake struct {
	routes   *routing.Lease
	pipeline *ingest.Pipeline
}

// pointIntake returns the intake of the process, which its roles share.
func (b *builder) pointIntake() *intake {
	if b.intake != nil {
		return b.intake
	}
	routes := routing.New(routing.Deps{
		Leases: b.Postgres, Topic: points.Topic, Logger: b.Logger, MaxWait: b.Config.Ingest.ProduceTimeout,
		Seen: func() (id [16]byte, partitions int32) {
			topic := b.Kafka.PointsTopic()
			return topic.ID, topic.Partitions
		},
	})
	b.add("routes of points", routes.Run)
	metadata := described.New(b.Postgres, b.Logger)
	b.add("metadata of metrics", metadata.Run)
	b.intake = &intake{routes: routes, pipeline: ingest.New(ingest.Deps{
		Sources: b.Postgres, Registry: b.Postgres, Retention: b.Postgres, Log: b.Kafka, Routes: routes,
		FingerprintKey: b.Installation.FingerprintKey,
		CacheSize:      b.Config.Ingest.SeriesCacheSize, LabelCacheBytes: b.Config.Ingest.LabelCacheBytes,
		OTLPResourceTags: b.Config.Ingest.OTLPResourceTags, Metadata: metadata,
		Metrics: b.Metrics, Tracing: b.Tracing,
		Limits: ingest.Limits{
			MaxPoints: b.Config.Ingest.MaxPoints, InFlightBytes: b.Config.Ingest.InFlightBytes,
			ProduceTimeout: b.Config.Ingest.ProduceTimeout,
		},
	})}
	return b.intake
}

// promStorage returns the points as a storage of Prometheus. The roles of the process share its limits.
func (b *builder) promStorage() *promstore.Store {
	if b.promStore == nil {
		cfg := &b.Config.PromQL
		b.promStore = promstore.New(promstore.Deps{
			Series: b.Postgres, Points: timeseries.New(b.ClickHouse), Exclusions: deleted.From(b.Postgres),
			MaxSeries: cfg.MaxSeries, MaxSamples: cfg.MaxSamples, MaxTotalSamples: cfg.MaxTotalSamples,
		})
	}
	return b.promStore
}

// outbound returns the guard of requests to addresses that tenants choose.
func (b *builder) outbound() *outbound.Guard {
	if b.guard == nil {
		b.guard = outbound.New(b.Config.Outbound.Networks())
	}
	return b.guard
}
