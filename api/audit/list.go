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

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
)

const (
	// maxTotal is up to where uses are counted: a total of millions is not worth
	// reading all of them for each page.
	maxTotal = 10_000
	// maxCSV is the most uses of an answer in CSV, and how many it has by default.
	maxCSV   = 10_000
	maxRoute = 256
)

var requestID = regexp.MustCompile(`^req_[0-9A-Z]{26}$`)

const statusForms = "must be a status such as 403, or a class of them such as 4xx; 0: cut off before the answer began"

// ParseStatus reads a status, or a class of statuses.
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

// ParseAddress reads an IP address.
func ParseAddress(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	return ip.Unmap(), err == nil && ip.Zone() == ""
}

// Use is one use of a key, or a count of requests without a known one, as it is shown.
type Use struct {
	RequestID   string     `json:"requestId"`
	Timestamp   time.Time  `json:"timestamp"`
	KeyID       *uuid.UUID `json:"keyId"` // null: no known key
	WorkspaceID *uuid.UUID `json:"workspaceId"`
	Method      string     `json:"method"`
	Route       string     `json:"route"`
	Status      *int       `json:"status"` // null: cut off before an answer began
	IP          *string    `json:"ip"`
	UserAgent   string     `json:"userAgent"`
	DurationMS  float64    `json:"durationMs"`
	// Until says when duration and bytes were taken.
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

// UseOf shows a record.
func UseOf(r *auditrecord.Record) Use {
	u := Use{
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
		u.IP = new(r.IP.WithZone("").String()) // a zone is any text of a caller
	}
	return u
}

// CSVHeader is the first line of uses in CSV.
const CSVHeader = "timestamp,requestId,keyId,workspaceId,method,route,status,ip,userAgent,durationMs,until," +
	"bytesIn,bytesOut,requests\n"

// AppendCSV appends the line of a record.
func AppendCSV(dst []byte, r *auditrecord.Record) []byte {
	u := UseOf(r)
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

// Forms of the answer.
const (
	formatJSON = "json"
	formatCSV  = "csv"
)

// list shows the uses of a workspace.
func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	return a.show(w, r, request.Query(r), &request.PrincipalOf(r.Context()).Workspace)
}

// listAll shows the uses of all workspaces, or of one that is asked for.
func (a *api) listAll(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	return a.show(w, r, p, p.UUID("workspaceId"))
}

func (a *api) show(w http.ResponseWriter, r *http.Request, p *request.Params, workspace *uuid.UUID) error {
	f := filter(p, workspace)
	format := p.OneOf("format", "", formatJSON, formatCSV)
	if format == "" {
		format = reply.Negotiate(r.Header, formatJSON, map[string]string{
			formatJSON: "application/json", formatCSV: "text/csv",
		})
	}
	limit, offset, cursor := p.Paging()
	if format == formatCSV {
		limit = min(p.Int("limit", maxCSV, 1, 1<<31), maxCSV)
	}
	if err := p.Err(); err != nil {
		return err
	}
	of := token.ScopeOf("audit", orNone(workspace), f)
	var after *auditlog.Position
	if cursor != "" {
		after = &auditlog.Position{}
		if err := a.sealer.ReadCursor(cursor, of, after); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	f = kept(f, a.Retention)
	found, err := a.Records.Audit(ctx, f, after, offset, limit+1) // one more says that more follow
	if err != nil {
		return err
	}
	meta := reply.Meta{Limit: limit, Offset: offset, HasMore: len(found) > limit}
	if meta.HasMore {
		found = found[:limit]
		last := &found[limit-1]
		next, err := a.sealer.Cursor(of, auditlog.Position{US: last.At.UnixMicro(), RequestID: last.RequestID})
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	if format == formatCSV {
		writeCSV(w, r, found, meta)
		return nil
	}
	if meta.Total, err = a.Records.CountAudit(ctx, f, maxTotal+1); err != nil {
		return err
	}
	beyond := meta.Total > maxTotal
	meta.Total, meta.Truncated = min(meta.Total, maxTotal), &beyond
	uses := make([]Use, len(found))
	for i := range found {
		uses[i] = UseOf(&found[i])
	}
	reply.List(w, r, uses, meta)
	return nil
}

// orNone returns the id that no workspace has for all of them.
func orNone(workspace *uuid.UUID) uuid.UUID {
	if workspace == nil {
		return uuid.Nil
	}
	return *workspace
}

// writeCSV answers with a line a use. What the envelope would tell of further pages is
// in the header Link.
func writeCSV(w http.ResponseWriter, r *http.Request, found []auditrecord.Record, meta reply.Meta) {
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	if meta.NextCursor != nil {
		values := r.URL.Query()
		values.Set("cursor", *meta.NextCursor)
		values.Del("offset")
		h.Set("Link", "<"+r.URL.EscapedPath()+"?"+values.Encode()+`>; rel="next"`)
	}
	out := []byte(CSVHeader)
	for i := range found {
		out = AppendCSV(out, &found[i])
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out) //nolint:gosec // the client is gone: nothing to do; G705: it is sent as text/csv
}
