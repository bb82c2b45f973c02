package process

import (
	"fmt"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/internal/platform/spool"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
)

// newTrail opens the spool of this process's audit records. The process closes it.
func (b *builder) newTrail() (*audit.Trail, error) {
	cfg := b.Config.Audit
	queue, err := spool.Open(cfg.Spool(b.Config.DataDir), spool.Options{
		MaxBytes: cfg.SpoolBytes, Sync: cfg.SyncInterval, Log: b.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the spool of audit records: %w (choose another folder with --audit-spool-dir)", err)
	}
	trail := audit.NewTrail(audit.TrailDeps{Spool: queue, Log: b.Kafka, Logger: b.Logger, Metrics: b.Metrics})
	b.closers = append(b.closers, func() { // the server has stopped by then
		if err := trail.Close(); err != nil {
			b.Logger.Error("closing the spool of audit records", "error", err)
		}
	})
	return trail, nil
}

// auditDeps returns the dependencies of the routes of the audit log.
func (b *builder) auditDeps() audit.Deps {
	return audit.Deps{
		Records: auditlog.New(b.ClickHouse), Retention: b.Config.Audit.Retention(), TokenKey: b.Installation.CheckpointKey,
		QueryTimeout: b.Config.API.QueryTimeout,
	}
}
