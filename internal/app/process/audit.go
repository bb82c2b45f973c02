package process

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/route"
	uses "github.com/livegraph/livegraph/consumers/audit"
	"github.com/livegraph/livegraph/internal/platform/spool"
)

// newTrail opens the spool of this process's audit records.
func (p *Process) newTrail() (*audit.Trail, error) {
	cfg := p.Cfg.Audit
	queue, err := spool.Open(cfg.Spool(p.Cfg.DataDir), spool.Options{
		MaxBytes: cfg.SpoolBytes, Sync: cfg.SyncInterval, Log: p.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the spool of audit records: %w (choose another folder with --audit-spool-dir)", err)
	}
	return audit.NewTrail(audit.TrailDeps{Spool: queue, Log: p.Kafka, Logger: p.Logger, Metrics: p.Metrics}), nil
}

// auditRoutes are those by which uses of keys are read.
func (p *Process) auditRoutes() []route.Route { return audit.Routes(p.auditDeps()) }

func (p *Process) auditDeps() audit.Deps {
	return audit.Deps{
		Records: p.Clickhouse, Retention: p.Cfg.Audit.Retention(), TokenKey: p.Install.CheckpointKey,
		QueryTimeout: p.Cfg.API.QueryTimeout,
	}
}

// newAudit makes the consumer of audit records.
func (p *Process) newAudit() *uses.Consumer {
	return uses.New(uses.Deps{
		Log: p.Kafka, Records: p.Clickhouse, Marks: p.Postgres, Logger: p.Logger, Metrics: p.Metrics, Tracing: p.tracing,
		Config: uses.Config{
			Group: p.Cfg.Audit.Group, BatchWait: p.Cfg.Audit.BatchWait, Retention: p.Cfg.Audit.Retention(), Grace: consumerGrace,
		},
	})
}

// runAudit runs what sends and what stores audit records.
func (p *Process) runAudit(ctx context.Context, group *errgroup.Group) {
	if p.trail != nil {
		group.Go(func() error { return p.trail.Run(ctx) })
	}
	if p.audit != nil {
		group.Go(func() error { return p.audit.Run(ctx) })
	}
}

// closeAudit closes the spool: no request is answered any more.
func (p *Process) closeAudit() {
	if p.trail == nil {
		return
	}
	if err := p.trail.Close(); err != nil {
		p.Logger.Error("closing the spool of audit records", "error", err)
	}
}
