package clickhouse

import (
	"context"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/auditrecord"
)

var auditColumns = []ch.ColumnNameAndType{
	{Name: "workspace", Type: "UUID"}, {Name: "ts", Type: "DateTime64(6, 'UTC')"}, {Name: "request_id", Type: "String"},
	{Name: "final", Type: "UInt8"}, {Name: "key", Type: "UUID"}, {Name: "method", Type: "LowCardinality(String)"},
	{Name: "route", Type: "LowCardinality(String)"}, {Name: "status", Type: "UInt16"}, {Name: "ip", Type: "String"},
	{Name: "user_agent", Type: "String"}, {Name: "duration_us", Type: "Int64"}, {Name: "bytes_in", Type: "Int64"},
	{Name: "bytes_out", Type: "Int64"}, {Name: "requests", Type: "UInt32"},
}

// InsertAudit stores uses of keys. When it returns nil they are visible. A record may
// be stored any number of times.
func (db *DB) InsertAudit(ctx context.Context, records []auditrecord.Record) error {
	const statement = "INSERT INTO audit (workspace, ts, request_id, final, key, method, route, status, ip, user_agent, " +
		"duration_us, bytes_in, bytes_out, requests)"
	type record = auditrecord.Record
	return db.insert(ctx, db.conn, opInsertAudit, statement, auditColumns, len(records), func(batch driver.Batch) error {
		return firstError(
			appendEach(batch, 0, records, func(r *record) uuid.UUID { return r.Workspace }),
			appendEach(batch, 1, records, func(r *record) time.Time { return r.At }),
			appendEach(batch, 2, records, func(r *record) string { return r.RequestID }),
			appendEach(batch, 3, records, finality),
			appendEach(batch, 4, records, func(r *record) uuid.UUID { return r.Key }),
			appendEach(batch, 5, records, func(r *record) string { return r.Method }),
			appendEach(batch, 6, records, func(r *record) string { return r.Route }),
			appendEach(batch, 7, records, func(r *record) uint16 { return uint16(r.Status) }),
			appendEach(batch, 8, records, addressOf),
			appendEach(batch, 9, records, func(r *record) string { return r.UserAgent }),
			appendEach(batch, 10, records, func(r *record) int64 { return r.Duration.Microseconds() }),
			appendEach(batch, 11, records, func(r *record) int64 { return r.BytesIn }),
			appendEach(batch, 12, records, func(r *record) int64 { return r.BytesOut }),
			appendEach(batch, 13, records, func(r *record) uint32 { return r.Requests }))
	})
}

func finality(r *auditrecord.Record) uint8 {
	if r.Final {
		return 1
	}
	return 0
}

// addressOf is the text of an address; "" when it is not known.
func addressOf(r *auditrecord.Record) string {
	if !r.IP.IsValid() {
		return ""
	}
	return r.IP.String()
}

// ExpireAudit drops the months of audit records that end by a time, and gives how many
// these are. The months are dropped by name, and not by a TTL: it would be computed in
// a type that overflows for long retentions, and then take everything.
func (db *DB) ExpireAudit(ctx context.Context, by time.Time) (months int, err error) {
	defer func(began time.Time) { db.metrics.observe(opExpire, began, 0, err) }(time.Now())
	var ids []string
	statement := `SELECT DISTINCT partition_id FROM system.parts
		WHERE database = currentDatabase() AND active AND table = 'audit' AND match(partition_id, '^[0-9]{6}$')
			AND toUnixTimestamp64Micro(toDateTime64(addMonths(toDate(concat(partition_id, '01')), 1), 6, 'UTC')) <= ` +
		fmt.Sprint(by.UnixMicro()) + `
		ORDER BY partition_id`
	err = db.query(ctx, opAudit, statement, nil, func(scan func(...any) error) error {
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
		if err := db.conn.Exec(ctx, "ALTER TABLE audit DROP PARTITION ID '"+id+"'"); err != nil {
			return months, fmt.Errorf("dropping a month of audit records: %w", err)
		}
		months++
	}
	return months, nil
}
