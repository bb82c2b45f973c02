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

// Filter says which uses of keys are asked for: those that meet all of it.
type Filter struct {
	Workspace *uuid.UUID // nil: of all, and of none
	Keys      []uuid.UUID
	Statuses  []Span // any of
	Route     string // a pattern, or with * at its end what it begins with
	IP        netip.Addr
	RequestID string
	From, To  time.Time // inclusive, exclusive; zero: no bound
}

// Span is a range of whole numbers, both ends included.
type Span struct{ From, To uint16 }

// Position is a place in a list of uses, which go from the newest to the oldest.
type Position struct {
	US        int64  `json:"t"`
	RequestID string `json:"r"`
}

// where returns the condition, with what comes from outside in the parameters.
func (f *Filter) where(parameters ch.Parameters) string {
	place, rest := f.conditions(parameters)
	return place + " AND " + rest
}

// conditions returns it in two parts: place is that of the table's order, which all rows of a
// request meet, or none; in the rest they may differ.
func (f *Filter) conditions(parameters ch.Parameters) (place, rest string) {
	conditions := []string{"1"}
	add := func(condition string) { conditions = append(conditions, condition) }
	if f.Workspace != nil {
		add(clickhouse.OfWorkspace(*f.Workspace))
	}
	if !f.From.IsZero() {
		add("ts >= " + auditMoment(f.From))
	}
	if !f.To.IsZero() {
		add("ts < " + auditMoment(f.To))
	}
	places := len(conditions)
	conditions = append(conditions, "1")
	if len(f.Keys) > 0 {
		parameters["keys"] = clickhouse.UUIDArray(f.Keys)
		add("key IN {keys:Array(UUID)}")
	}
	if len(f.Statuses) > 0 {
		var either []string
		for _, s := range f.Statuses {
			either = append(either, "status BETWEEN "+strconv.Itoa(int(s.From))+" AND "+strconv.Itoa(int(s.To)))
		}
		add("(" + strings.Join(either, " OR ") + ")")
	}
	if f.Route != "" {
		prefix, open := strings.CutSuffix(f.Route, "*")
		// In hexadecimal: the text of a parameter is unescaped, and this may be any text.
		text := "unhex('" + hex.EncodeToString([]byte(prefix)) + "')"
		if open {
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
	return strings.Join(conditions[:places], " AND "), strings.Join(conditions[places:], " AND ")
}

// auditMoment writes a bound of time within what the table can have.
func auditMoment(at time.Time) string {
	const year2200 = 7_258_118_400_000_000
	return clickhouse.Moment(min(max(at.UnixMicro(), 0), year2200))
}

// Audit returns uses of keys, each once, from the newest to the oldest, at most so many,
// beginning after a place (nil: at the newest) and an offset.
func (s *Store) Audit(
	ctx context.Context, f Filter, after *Position, offset, limit int,
) ([]auditrecord.Record, error) {
	parameters := ch.Parameters{}
	where := f.where(parameters)
	if after != nil {
		parameters["after"] = after.RequestID
		where += " AND (ts, request_id) < (" + clickhouse.Moment(after.US) + ", {after:String})"
	}
	var found []auditrecord.Record
	err := s.db.Query(ctx, clickhouse.OpAudit, `
		SELECT workspace, toUnixTimestamp64Micro(ts), request_id, final, key, method, route, status, ip, user_agent,
		duration_us, bytes_in, bytes_out, requests
		FROM audit WHERE `+where+`
		ORDER BY ts DESC, request_id DESC, final DESC LIMIT 1 BY ts, request_id
		LIMIT `+strconv.Itoa(limit)+` OFFSET `+strconv.Itoa(offset), parameters, func(scan func(...any) error) error {
		r, err := scanAudit(scan)
		found = append(found, r)
		return err
	})
	return found, err
}

func scanAudit(scan func(...any) error) (r auditrecord.Record, err error) {
	var us, durationUS int64
	var final uint8
	var status uint16
	var ip string
	err = scan(
		&r.Workspace, &us, &r.RequestID, &final, &r.Key, &r.Method, &r.Route, &status, &ip, &r.UserAgent, &durationUS,
		&r.BytesIn, &r.BytesOut, &r.Requests,
	)
	if ip != "" {
		r.IP, _ = netip.ParseAddr(ip) // it was written as one
	}
	r.At, r.Final, r.Status, r.Duration = clickhouse.TimeOf(
		us,
	), final != 0, int(
		status,
	), time.Duration(
		durationUS,
	)*time.Microsecond
	return r, err
}

// CountAudit counts the uses that meet a filter, up to most.
func (s *Store) CountAudit(ctx context.Context, f Filter, most int) (count int64, err error) {
	parameters := ch.Parameters{}
	err = s.db.Query(ctx, clickhouse.OpAudit, `SELECT toInt64(count()) FROM (
		SELECT 1 FROM audit WHERE `+
		f.where(parameters)+` ORDER BY ts DESC, request_id DESC LIMIT 1 BY ts, request_id LIMIT `+strconv.Itoa(most)+`)`,
		parameters, func(scan func(...any) error) error { return scan(&count) })
	return count, err
}

// Usage is what requests of one hour or day, key, group of routes and status come to.
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

// routeGroup is the group of a route: what follows /api/, with the routes for points
// together, those in another product's dialect included.
const routeGroup = `multiIf(route IN ('/api/live-data/ingest', '/api/v1/write', '/api/v2/write', '/write'), 'ingest',
	startsWith(route, '/api/'), splitByChar('/', toString(route))[3], 'none')`

// AuditUsage returns what uses come to by hour or by day (UTC), the newest first, and how
// many rows there are without limit and offset.
func (s *Store) AuditUsage(
	ctx context.Context, f Filter, byDay bool, offset, limit int,
) (found []Usage, total int64, err error) {
	bucket := "toStartOfHour(ts)"
	if byDay {
		bucket = "toStartOfDay(ts)"
	}
	parameters := ch.Parameters{}
	place, rest := f.conditions(parameters)
	// By route first: there are few, and the text of its group is made once for each.
	byRoute := `SELECT ` + bucket + ` AS bucket, workspace, key, route, status,
			sum(requests) AS asked, sum(bytes_in) AS taken, sum(bytes_out) AS given
		FROM audit FINAL PREWHERE ` + place + ` WHERE ` + rest + ` GROUP BY bucket, workspace, key, route, status`
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
