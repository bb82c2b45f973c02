package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/route"
	uses "github.com/livegraph/livegraph/consumers/audit"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
)

// newTrail opens the spool of this process's audit records.
func (p *process) newTrail() (*audit.Trail, error) {
	cfg := p.cfg.Audit
	queue, err := spool.Open(cfg.Spool(p.cfg.DataDir), spool.Options{
		MaxBytes: cfg.SpoolBytes, Sync: cfg.SyncInterval, Log: p.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the spool of audit records: %w (choose another folder with --audit-spool-dir)", err)
	}
	return audit.NewTrail(audit.TrailDeps{Spool: queue, Log: p.kafka, Logger: p.logger, Metrics: p.metrics}), nil
}

// auditRoutes are those by which uses of keys are read.
func (p *process) auditRoutes() []route.Route { return audit.Routes(p.auditDeps()) }

func (p *process) auditDeps() audit.Deps {
	return audit.Deps{
		Records: auditlog.New(p.clickhouse), Retention: p.cfg.Audit.Retention(), TokenKey: p.install.CheckpointKey,
		QueryTimeout: p.cfg.API.QueryTimeout,
	}
}

// newUses makes the consumer of audit records.
func (p *process) newUses() *uses.Consumer {
	return uses.New(uses.Deps{
		Log: p.kafka, Records: auditlog.New(p.clickhouse), Marks: p.postgres,
		Logger: p.logger, Metrics: p.metrics, Tracing: p.tracing,
		Config: uses.Config{
			Group: p.cfg.Audit.Group, BatchWait: p.cfg.Audit.BatchWait, Retention: p.cfg.Audit.Retention(), Grace: consumerGrace,
		},
	})
}

// runAudit runs what sends and what stores audit records.
func (p *process) runAudit(ctx context.Context, group *errgroup.Group) {
	if p.trail != nil {
		group.Go(func() error { return p.trail.Run(ctx) })
	}
	if p.uses != nil {
		group.Go(func() error { return p.uses.Run(ctx) })
	}
}

// closeAudit closes the spool: no request is answered any more.
func (p *process) closeAudit() {
	if p.trail == nil {
		return
	}
	if err := p.trail.Close(); err != nil {
		p.logger.Error("closing the spool of audit records", "error", err)
	}
}
