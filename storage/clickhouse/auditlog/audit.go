// Package auditlog stores audit records of requests with API keys, and queries them.
package auditlog

import (
	"context"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Target is the table of audit records.
var Target = clickhouse.Target{
	Operation: clickhouse.OpInsertAudit, Table: "audit", Columns: []ch.ColumnNameAndType{
		{Name: "workspace", Type: "UUID"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"}, {Name: "request_id", Type: "String"},
		{Name: "final", Type: "UInt8"}, {Name: "key", Type: "UUID"}, {Name: "method", Type: "LowCardinality(String)"},
		{Name: "route", Type: "LowCardinality(String)"}, {Name: "status", Type: "UInt16"}, {Name: "ip", Type: "String"},
		{Name: "user_agent", Type: "String"}, {Name: "duration_us", Type: "Int64"}, {Name: "bytes_in", Type: "Int64"},
		{Name: "bytes_out", Type: "Int64"}, {Name: "requests", Type: "UInt32"},
	},
}

// Store reads and writes the table of audit records.
type Store struct{ db *clickhouse.DB }

// New returns a Store for a database.
func New(db *clickhouse.DB) *Store { return &Store{db: db} }

// InsertAudit stores records. When it returns nil, they are visible. A record may be stored any
// number of times.
func (s *Store) InsertAudit(ctx context.Context, records []auditrecord.Record) error {
	type record = auditrecord.Record
	return s.db.Insert(ctx, &Target, len(records),
		native.UUIDs(clickhouse.MapRows(records, func(r *record) uuid.UUID { return r.Workspace })),
		native.Fixed[int64](clickhouse.MapRows(records, func(r *record) int64 { return r.At.UnixMicro() })),
		native.Strings(clickhouse.MapRows(records, func(r *record) string { return r.RequestID })),
		native.Fixed[uint8](clickhouse.MapRows(records, finalFlag)),
		native.UUIDs(clickhouse.MapRows(records, func(r *record) uuid.UUID { return r.Key })),
		native.Strings(clickhouse.MapRows(records, func(r *record) string { return r.Method })),
		native.Strings(clickhouse.MapRows(records, func(r *record) string { return r.Route })),
		native.Fixed[uint16](clickhouse.MapRows(records, func(r *record) uint16 { return uint16(r.Status) })),
		native.Strings(clickhouse.MapRows(records, addressOf)),
		native.Strings(clickhouse.MapRows(records, func(r *record) string { return r.UserAgent })),
		native.Fixed[int64](clickhouse.MapRows(records, func(r *record) int64 { return r.Duration.Microseconds() })),
		native.Fixed[int64](clickhouse.MapRows(records, func(r *record) int64 { return r.BytesIn })),
		native.Fixed[int64](clickhouse.MapRows(records, func(r *record) int64 { return r.BytesOut })),
		native.Fixed[uint32](clickhouse.MapRows(records, func(r *record) uint32 { return r.Requests })))
}

func finalFlag(r *auditrecord.Record) uint8 {
	if r.Final {
		return 1
	}
	return 0
}

// addressOf returns the text of the IP address, "" if it is unknown.
func addressOf(r *auditrecord.Record) string {
	if !r.IP.IsValid() {
		return ""
	}
	return r.IP.String()
}

// ExpireAudit drops the months of audit records that end at a time or before, and returns their
// number. It drops partitions by name. A TTL would be computed in a type that overflows for long
// retentions, and would then delete all records.
func (s *Store) ExpireAudit(ctx context.Context, until time.Time) (months int, err error) {
	defer func(began time.Time) { s.db.Observe(clickhouse.OpExpire, began, err) }(time.Now())
	var ids []string
	layout := s.db.Layout()
	statement := `SELECT DISTINCT partition_id FROM ` + layout.System("parts") + `
		WHERE database = ` + layout.Database() + ` AND active AND table = '` + layout.StoredName("audit") + `'
			AND match(partition_id, '^[0-9]{6}$')
			AND toUnixTimestamp64Micro(toDateTime64(addMonths(toDate(concat(partition_id, '01')), 1), 6, 'UTC')) <= ` +
		fmt.Sprint(until.UnixMicro()) + `
		ORDER BY partition_id`
	err = s.db.Query(ctx, clickhouse.OpAudit, statement, nil, func(scan func(...any) error) error {
		var id string
		if err := scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("listing the months of audit records: %w", err)
	}
	for _, id := range ids {
		if err := s.db.Exec(ctx, "ALTER TABLE "+layout.Stored("audit")+" DROP PARTITION ID '"+id+"'"); err != nil {
			return months, fmt.Errorf("dropping a month of audit records: %w", err)
		}
		months++
	}
	return months, nil
}
