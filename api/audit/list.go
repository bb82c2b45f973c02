package audit

import (
	"context"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
)

const (
	// maxTotal is the maximum total. Counting further would read millions of records for each
	// page.
	maxTotal = 10_000
	maxRoute = 256
)

var requestID = regexp.MustCompile(`^req_[0-9A-Z]{26}$`)

const statusForms = "must be a status such as 403, or a class of them such as 4xx; 0: cut off before the answer began"

// ParseStatus parses a status or a class of statuses.
func ParseStatus(text string) (span auditlog.Span, ok bool) {
	if class, found := strings.CutSuffix(text, "xx"); found && len(class) == 1 && class >= "1" && class <= "5" {
		from := uint16(class[0]-'0') * 100
		return auditlog.Span{From: from, To: from + 99}, true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n != 0 && (n < 100 || n > 599) || len(text) > 3 || text[0] == '+' {
		return span, false
	}
	return auditlog.Span{From: uint16(n), To: uint16(n)}, true
}

// ParseAddress parses an IP address without a zone.
func ParseAddress(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	return ip.Unmap(), err == nil && ip.Zone() == ""
}

// Entry is an audit record in responses: a request with a known key, or a count of requests.
type Entry struct {
	RequestID   string     `json:"requestId"`
	Timestamp   time.Time  `json:"timestamp"`
	KeyID       *uuid.UUID `json:"keyId"` // null: unknown key
	WorkspaceID *uuid.UUID `json:"workspaceId"`
	Method      string     `json:"method"`
	Route       string     `json:"route"`
	Status      *int       `json:"status"` // null: cut off before an answer began
	IP          *string    `json:"ip"`
	UserAgent   string     `json:"userAgent"`
	DurationMS  float64    `json:"durationMs"`
	// Until is when duration and bytes were measured.
	Until    string `json:"until"`
	BytesIn  int64  `json:"bytesIn"`
	BytesOut int64  `json:"bytesOut"`
	Requests uint32 `json:"requests"`
}

// Values of Use.Until.
const (
	untilFirstByte = "firstByte"
	untilEnd       = "end"
)

// NewEntry returns a record in the form of responses.
func NewEntry(r *auditrecord.Record) Entry {
	u := Entry{
		RequestID: r.RequestID, Timestamp: r.At.UTC(), Method: r.Method, Route: r.Route, UserAgent: r.UserAgent,
		DurationMS: float64(r.Duration.Microseconds()) / 1000, Until: untilFirstByte, BytesIn: r.BytesIn,
		BytesOut: r.BytesOut, Requests: r.Requests,
	}
	if r.Final {
		u.Until = untilEnd
	}
	if r.Key != uuid.Nil {
		u.KeyID = &r.Key
	}
	if r.Workspace != uuid.Nil {
		u.WorkspaceID = &r.Workspace
	}
	if r.Status != 0 {
		u.Status = &r.Status
	}
	if r.IP.IsValid() {
		u.IP = new(r.IP.WithZone("").String()) // a zone may be any text from a client
	}
	return u
}

// CSVHeader is the header line of records in CSV.
const CSVHeader = "timestamp,requestId,keyId,workspaceId,method,route,status,ip,userAgent,durationMs,until," +
	"bytesIn,bytesOut,requests\n"

// AppendCSV appends a record as a line of CSV.
func AppendCSV(dst []byte, r *auditrecord.Record) []byte {
	u := NewEntry(r)
	dst = u.Timestamp.AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	cell := func(text string) { dst = reply.AppendCSVText(append(dst, ','), text) }
	id := func(id *uuid.UUID) {
		if dst = append(dst, ','); id != nil {
			dst = append(dst, id.String()...)
		}
	}
	number := func(n int64) { dst = strconv.AppendInt(append(dst, ','), n, 10) }
	cell(u.RequestID)
	id(u.KeyID)
	id(u.WorkspaceID)
	cell(u.Method)
	cell(u.Route)
	number(int64(r.Status))
	if dst = append(dst, ','); u.IP != nil {
		dst = append(dst, *u.IP...)
	}
	cell(u.UserAgent)
	dst = strconv.AppendFloat(append(dst, ','), u.DurationMS, 'f', -1, 64)
	cell(u.Until)
	number(u.BytesIn)
	number(u.BytesOut)
	number(int64(u.Requests))
	return append(dst, '\n')
}

// entryColumns are the columns of a list of records.
var entryColumns = columns.List[Entry]{
	columns.Time("timestamp", func(e *Entry) time.Time { return e.Timestamp }),
	columns.Text("requestId", func(e *Entry) string { return e.RequestID }),
	columns.OptionalText("keyId", func(e *Entry) *string { return optionalID(e.KeyID) }),
	columns.OptionalText("workspaceId", func(e *Entry) *string { return optionalID(e.WorkspaceID) }),
	columns.Names("method", func(e *Entry) string { return e.Method }),
	columns.Names("route", func(e *Entry) string { return e.Route }),
	columns.OptionalInt("status", func(e *Entry) *int64 {
		if e.Status == nil {
			return nil
		}
		return new(int64(*e.Status))
	}),
	columns.OptionalText("ip", func(e *Entry) *string { return e.IP }),
	columns.Text("userAgent", func(e *Entry) string { return e.UserAgent }),
	columns.Float("durationMs", func(e *Entry) float64 { return e.DurationMS }),
	columns.Names("until", func(e *Entry) string { return e.Until }),
	columns.Int("bytesIn", func(e *Entry) int64 { return e.BytesIn }),
	columns.Int("bytesOut", func(e *Entry) int64 { return e.BytesOut }),
	columns.Int("requests", func(e *Entry) int64 { return int64(e.Requests) }),
}

func optionalID(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	return new(id.String())
}

// list returns the audit records of a workspace.
func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	return a.replyRecords(w, r, request.Query(r), &request.PrincipalOf(r.Context()).Workspace)
}

// listAll returns the audit records of all workspaces, or of the one in workspaceId.
func (a *api) listAll(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	return a.replyRecords(w, r, p, p.UUID("workspaceId"))
}

func (a *api) replyRecords(w http.ResponseWriter, r *http.Request, p *request.Params, workspace *uuid.UUID) error {
	f := filter(p, workspace)
	format := columns.ReadFormat(p, r.Header, columns.JSON, columns.CSV, columns.Arrow, columns.Parquet)
	limit, offset, cursor := p.Paging()
	if format.Name != columns.JSON {
		limit = min(p.Int("limit", columns.MaxItems, 1, 1<<31), columns.MaxItems)
	}
	if err := p.Err(); err != nil {
		return err
	}
	format.Vary(w.Header())
	scope := token.ScopeOf("audit", workspaceOrNil(workspace), f)
	var after *auditlog.Position
	if cursor != "" {
		after = &auditlog.Position{}
		if err := a.sealer.ReadCursor(cursor, scope, after); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	f = withinRetention(f, a.Retention)
	found, err := a.Records.Audit(ctx, f, after, offset, limit+1) // one more, for HasMore
	if err != nil {
		return err
	}
	meta := reply.Meta{Limit: limit, Offset: offset, HasMore: len(found) > limit}
	if meta.HasMore {
		found = found[:limit]
		last := &found[limit-1]
		next, err := a.sealer.Cursor(scope, auditlog.Position{US: last.At.UnixMicro(), RequestID: last.RequestID})
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	if format.Name == columns.CSV {
		writeCSV(w, format, found, reply.NextPage(r.URL, meta.NextCursor))
		return nil
	}
	entries := make([]Entry, len(found))
	for i := range found {
		entries[i] = NewEntry(&found[i])
	}
	if format.IsColumns() {
		entryColumns.Write(w, format, entries, reply.NextPage(r.URL, meta.NextCursor))
		return nil
	}
	if meta.Total, err = a.Records.CountAudit(ctx, f, maxTotal+1); err != nil {
		return err
	}
	truncated := meta.Total > maxTotal
	meta.Total, meta.Truncated = min(meta.Total, maxTotal), &truncated
	reply.List(w, r, entries, meta)
	return nil
}

// workspaceOrNil returns *workspace, or uuid.Nil if workspace is nil.
func workspaceOrNil(workspace *uuid.UUID) uuid.UUID {
	if workspace == nil {
		return uuid.Nil
	}
	return *workspace
}

// writeCSV writes a response in CSV. next is the URL of the next page, empty at the end.
func writeCSV(w http.ResponseWriter, format columns.Format, found []auditrecord.Record, next string) {
	out := []byte(CSVHeader)
	for i := range found {
		out = AppendCSV(out, &found[i])
	}
	format.WriteHeader(w, next)
	_, _ = w.Write(out) //nolint:gosec // fails only if the client has disconnected; G705: it is sent as text/csv
}
