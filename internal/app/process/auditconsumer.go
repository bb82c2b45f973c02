package process

import (
	"github.com/livegraph/livegraph/consumers/audit"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
)

// addAudit adds the consumer that stores audit records.
func (b *builder) addAudit() error {
	consumer := audit.New(audit.Deps{
		Log: b.Kafka, Records: auditlog.New(b.ClickHouse), Watermarks: b.Postgres,
		Logger: b.Logger, Metrics: b.Metrics, Tracing: b.Tracing,
		Config: audit.Config{
			Group: b.Config.Audit.Group, BatchWait: b.Config.Audit.BatchWait, Retention: b.Config.Audit.Retention(),
			Grace: consumerGrace,
		},
	})
	b.add("audit", consumer.Run)
	return nil
}
