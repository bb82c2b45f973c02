package auditlog

import (
	"context"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Filter selects the records that match all of its fields.
type Filter struct {
	Workspace *uuid.UUID // nil: records of all workspaces, and of none
	Keys      []uuid.UUID
	Statuses  []Span // any of these ranges
	Route     string // a route pattern, or a prefix followed by *
	IP        netip.Addr
	RequestID string
	From, To  time.Time // inclusive, exclusive; zero: no bound
}

// Span is an inclusive range of integers.
type Span struct{ From, To uint16 }

// Position is a position in a list of records, which is ordered from the newest to the oldest.
type Position struct {
	US        int64  `json:"t"`
	RequestID string `json:"r"`
}

// where returns the condition of the filter. It puts text of callers into parameters.
func (f *Filter) where(parameters ch.Parameters) string {
	orderCondition, rowCondition := f.conditions(parameters)
	return orderCondition + " AND " + rowCondition
}

// conditions returns the condition in two parts. Either all rows of a request match
// orderCondition, which is on columns of the table's order, or none does. Only some of them
// may match rowCondition.
func (f *Filter) conditions(parameters ch.Parameters) (orderCondition, rowCondition string) {
	conditions := []string{"1"}
	add := func(condition string) { conditions = append(conditions, condition) }
	if f.Workspace != nil {
		add(clickhouse.WorkspaceCondition(*f.Workspace))
	}
	if !f.From.IsZero() {
		add("ts >= " + timeBound(f.From))
	}
	if !f.To.IsZero() {
		add("ts < " + timeBound(f.To))
	}
	orderConditions := len(conditions)
	conditions = append(conditions, "1")
	if len(f.Keys) > 0 {
		parameters["keys"] = clickhouse.UUIDArray(f.Keys)
		add("key IN {keys:Array(UUID)}")
	}
	if len(f.Statuses) > 0 {
		var statuses []string
		for _, s := range f.Statuses {
			statuses = append(statuses, "status BETWEEN "+strconv.Itoa(int(s.From))+" AND "+strconv.Itoa(int(s.To)))
		}
		add("(" + strings.Join(statuses, " OR ") + ")")
	}
	if f.Route != "" {
		prefix, isPrefix := strings.CutSuffix(f.Route, "*")
		// In hexadecimal: the text of a parameter is unescaped, and this may be any text.
		text := "unhex('" + hex.EncodeToString([]byte(prefix)) + "')"
		if isPrefix {
			add("startsWith(route, " + text + ")")
		} else {
			add("route = " + text)
		}
	}
	if f.IP.IsValid() {
		parameters["ip"] = f.IP.String()
		add("ip = {ip:String}")
	}
	if f.RequestID != "" {
		parameters["request"] = f.RequestID
		add("request_id = {request:String}")
	}
	return strings.Join(conditions[:orderConditions], " AND "), strings.Join(conditions[orderConditions:], " AND ")
}

// timeBound returns the expression of a time, limited to the times that the table can store.
func timeBound(t time.Time) string {
	const year2200 = 7_258_118_400_000_000
	return clickhouse.TimeExpression(min(max(t.UnixMicro(), 0), year2200))
}

// Audit returns at most limit records, each once, from the newest to the oldest. It begins
// after a position (nil: at the newest) and an offset.
func (s *Store) Audit(
	ctx context.Context, f Filter, after *Position, offset, limit int,
) ([]auditrecord.Record, error) {
	parameters := ch.Parameters{}
	where := f.where(parameters)
	if after != nil {
		parameters["after"] = after.RequestID
		where += " AND (ts, request_id) < (" + clickhouse.TimeExpression(after.US) + ", {after:String})"
	}
	var found []auditrecord.Record
	err := s.db.Query(ctx, clickhouse.OpAudit, `
		SELECT workspace, toUnixTimestamp64Micro(ts), request_id, final, key, method, route, status, ip, user_agent,
		duration_us, bytes_in, bytes_out, requests
		FROM audit WHERE `+where+`
		ORDER BY ts DESC, request_id DESC, final DESC LIMIT 1 BY ts, request_id
		LIMIT `+strconv.Itoa(limit)+` OFFSET `+strconv.Itoa(offset), parameters, func(scan func(...any) error) error {
		r, err := scanRecord(scan)
		found = append(found, r)
		return err
	})
	return found, err
}

func scanRecord(scan func(...any) error) (r auditrecord.Record, err error) {
	var us, durationUS int64
	var final uint8
	var status uint16
	var ip string
	err = scan(
		&r.Workspace, &us, &r.RequestID, &final, &r.Key, &r.Method, &r.Route, &status, &ip, &r.UserAgent, &durationUS,
		&r.BytesIn, &r.BytesOut, &r.Requests,
	)
	if ip != "" {
		r.IP, _ = netip.ParseAddr(ip) // only valid addresses are stored
	}
	r.At, r.Final, r.Status = clickhouse.TimeOf(us), final != 0, int(status)
	r.Duration = time.Duration(durationUS) * time.Microsecond
	return r, err
}

// CountAudit counts the records that match a filter, up to limit.
func (s *Store) CountAudit(ctx context.Context, f Filter, limit int) (count int64, err error) {
	parameters := ch.Parameters{}
	err = s.db.Query(ctx, clickhouse.OpAudit, `SELECT toInt64(count()) FROM (
		SELECT 1 FROM audit WHERE `+
		f.where(parameters)+` ORDER BY ts DESC, request_id DESC LIMIT 1 BY ts, request_id LIMIT `+strconv.Itoa(limit)+`)`,
		parameters, func(scan func(...any) error) error { return scan(&count) })
	return count, err
}

// Usage is the sum of the requests of one hour or day, key, group of routes and status.
type Usage struct {
	Start     time.Time
	Workspace uuid.UUID
	Key       uuid.UUID
	Group     string
	Status    uint16
	Requests  uint64
	BytesIn   int64
	BytesOut  int64
}

// routeGroup is the SQL expression for the group of a route: the path segment after /api/. The
// routes for points are one group, including those in the protocols of other products.
const routeGroup = `multiIf(
	route IN ('/api/live-data/ingest', '/api/v1/write', '/api/v2/write', '/write', '/v1/metrics'), 'ingest',
	route = '/mcp', 'mcp',
	startsWith(route, '/api/'), splitByChar('/', toString(route))[3], 'none')`

// AuditUsage returns sums of records by hour or by day (UTC), the newest first, and the number
// of rows without limit and offset.
func (s *Store) AuditUsage(
	ctx context.Context, f Filter, byDay bool, offset, limit int,
) (found []Usage, total int64, err error) {
	bucket := "toStartOfHour(ts)"
	if byDay {
		bucket = "toStartOfDay(ts)"
	}
	parameters := ch.Parameters{}
	orderCondition, rowCondition := f.conditions(parameters)
	// Group by route first: there are few, so the expression of the group is evaluated rarely.
	byRoute := `SELECT ` + bucket + ` AS bucket, workspace, key, route, status,
			sum(requests) AS asked, sum(bytes_in) AS taken, sum(bytes_out) AS given
		FROM audit FINAL PREWHERE ` + orderCondition + ` WHERE ` + rowCondition +
		` GROUP BY bucket, workspace, key, route, status`
	grouped := `SELECT toInt64(toUnixTimestamp(bucket)) AS start, workspace, key, ` + routeGroup + ` AS grp, status,
			sum(asked) AS n, sum(taken) AS got, sum(given) AS sent
		FROM (` + byRoute + `) GROUP BY start, workspace, key, grp, status`
	err = s.db.Query(
		ctx,
		clickhouse.OpAudit,
		`SELECT start, workspace, key, grp, status, n, got, sent, toInt64(count() OVER ()) FROM (`+grouped+`)
		ORDER BY start DESC, workspace, key, grp, status LIMIT `+
			strconv.Itoa(limit)+` OFFSET `+strconv.Itoa(offset),
		parameters,
		func(scan func(...any) error) error {
			var u Usage
			var start int64
			err := scan(&start, &u.Workspace, &u.Key, &u.Group, &u.Status, &u.Requests, &u.BytesIn, &u.BytesOut, &total)
			u.Start = time.Unix(start, 0).UTC()
			found = append(found, u)
			return err
		},
	)
	if err == nil && len(found) == 0 && offset > 0 {
		_, total, err = s.AuditUsage(ctx, f, byDay, 0, 1)
	}
	return found, total, err
}
