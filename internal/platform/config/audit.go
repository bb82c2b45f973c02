package config

import (
	"path/filepath"
	"time"
)

// MaxAuditDays is the maximum retention of audit records in days: 100 years.
const MaxAuditDays = 36500

// Audit holds the settings of the audit log: its spool, in processes with the role api,
// its consumer and its retention.
type Audit struct {
	SpoolDir      string        `help:"Directory of the spool, which stores audit records until Kafka acknowledges them. Each process with the role api requires a separate one, on a volume that outlives the process. Default: audit in the data directory." env:"LIVEGRAPH_AUDIT_SPOOL_DIR"`
	SpoolBytes    int64         `help:"Maximum size of the spool in bytes. Above it, requests with a key are answered 503." default:"1073741824" env:"LIVEGRAPH_AUDIT_SPOOL_BYTES"`
	SyncInterval  time.Duration `help:"Interval between syncs of the spool to the disk. A crash of the machine can lose the records of one interval; a crash of the process loses none. 0: sync before each answer." default:"1s" env:"LIVEGRAPH_AUDIT_SYNC_INTERVAL"`
	Group         string        `help:"Consumer group." default:"livegraph-audit" env:"LIVEGRAPH_AUDIT_GROUP"`
	BatchWait     time.Duration `help:"Maximum age of a batch of audit records before it is inserted, regardless of its size." default:"1s" env:"LIVEGRAPH_AUDIT_BATCH_WAIT"`
	RetentionDays int           `help:"Retention of audit records in days. 0: permanently. Must be the same in all processes with the roles api or audit." default:"365" env:"LIVEGRAPH_AUDIT_RETENTION_DAYS"`
}

// Retention returns how long audit records are kept; 0: forever.
func (a *Audit) Retention() time.Duration { return time.Duration(a.RetentionDays) * 24 * time.Hour }

// Spool returns the folder of the spool.
func (a *Audit) Spool(dataDir string) string {
	if a.SpoolDir != "" {
		return a.SpoolDir
	}
	return filepath.Join(dataDir, "audit")
}

func (a *Audit) validate(invalid func(setting, format string, args ...any)) {
	const minSpoolBytes = 1 << 20
	if a.SpoolBytes < minSpoolBytes {
		invalid("audit-spool-bytes", "must be at least %d", minSpoolBytes)
	}
	if a.SyncInterval < 0 {
		invalid("audit-sync-interval", "must not be below zero")
	}
	if a.BatchWait <= 0 {
		invalid("audit-batch-wait", "must be above zero")
	}
	if a.RetentionDays < 0 || a.RetentionDays > MaxAuditDays {
		invalid("audit-retention-days", "must be from 0 to %d", MaxAuditDays)
	}
}
