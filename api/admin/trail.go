package admin

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

const (
	// maxRecordedText is the maximum size of each recorded text of a client, in bytes.
	maxRecordedText = 256
	// recordTimeout is the maximum time for recording the status of a response.
	recordTimeout = 5 * time.Second
)

// Record writes a request of an operator to the audit trail before it is handled. The request
// must not be handled if Record returns an error. The caller must call end with the status of
// the response, or with 0 if it was cut off.
func (a *Admin) Record(r *http.Request, pattern string) (end func(status int), err error) {
	act := a.newAct(r, pattern)
	if o := request.OperatorOf(r.Context()); o != nil {
		act.Operator, act.OperatorName = &o.ID, o.Name
	}
	read := newReadKey(&act)
	if inBackground(r) && a.recordedRecently(read) {
		return func(int) {}, nil
	}
	id, err := a.deps.Operators.BeginOperatorAct(r.Context(), act)
	if err != nil {
		return nil, err
	}
	a.recentReads.Set(read, time.Now())
	return func(status int) {
		if status == 0 {
			return
		}
		notes := request.NotesOf(r.Context())
		if notes.Command != uuid.Nil {
			notes.AddResult(notes.Command.String())
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordTimeout)
		defer cancel()
		if err := a.deps.Operators.EndOperatorAct(ctx, id, int16(status), notes.Results, notes.Fields); err != nil {
			a.logger.WarnContext(
				ctx, "the outcome of an operator's request cannot be recorded", "act", id, "status", status, "error", err,
			)
		}
	}, nil
}

// An equal background read is recorded once per readInterval.
const (
	readInterval   = 10 * time.Minute
	maxRecentReads = 4096
)

// readKey identifies equal background reads.
type readKey struct {
	operator, workspace uuid.UUID
	method, route       string
	subject             string
}

func newReadKey(act *access.OperatorAct) readKey {
	read := readKey{method: act.Method, route: act.Route, subject: act.Subject}
	if act.Operator != nil {
		read.operator = *act.Operator
	}
	if act.Workspace != nil {
		read.workspace = *act.Workspace
	}
	return read
}

// recordedRecently reports whether an equal read was recorded within readInterval.
func (a *Admin) recordedRecently(read readKey) bool {
	at, known := a.recentReads.GetIfPresent(read)
	return known && time.Since(at) < readInterval
}

// newAct returns the audit record of a request, without operator and status.
func (a *Admin) newAct(r *http.Request, pattern string) access.OperatorAct {
	act := access.OperatorAct{
		RequestID: reply.RequestID(r.Context()), Method: r.Method, Route: pattern, Subject: subject(r),
		UserAgent: clean(r.UserAgent()),
	}
	if ip := request.ClientOf(r.Context()).IP; ip.IsValid() {
		act.IP = &ip
	}
	if values := r.Header.Values("X-Workspace-Id"); len(values) == 1 {
		if id, ok := request.ParseUUID(values[0]); ok {
			act.Workspace = &id
		}
	}
	if strings.HasPrefix(pattern, workspacesPath+"/{id}") {
		if id, ok := request.ParseUUID(chi.URLParam(r, "id")); ok {
			act.Workspace = &id
		}
	}
	return act
}

// subject returns the parameters in a request's path.
func subject(r *http.Request) string {
	params := chi.RouteContext(r.Context()).URLParams
	var parts []string
	for i, key := range params.Keys {
		if key != "*" { // of a mounted router
			parts = append(parts, params.Values[i])
		}
	}
	return clean(strings.Join(parts, "/"))
}

// clean returns a client's text in the form in which it may be recorded.
func clean(text string) string { return auditrecord.Sanitize(text, maxRecordedText) }

// trail lists the operators' audit trail, newest first.
func (a *Admin) trail(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	f := access.OperatorActFilter{Operator: p.UUID("operatorId"), Workspace: p.UUID("workspaceId")}
	if at := p.Time("from"); at != nil {
		f.From = *at
	}
	if at := p.Time("to"); at != nil {
		f.To = *at
	}
	limit := min(p.Int("limit", request.DefaultLimit, 1, math.MaxInt32), request.MaxLimit)
	if text, given := p.String("cursor"); given {
		var err error
		if f.Before, err = strconv.ParseInt(text, 10, 64); err != nil || f.Before <= 0 {
			p.Fail("cursor", "is not a cursor")
		}
	}
	if err := p.Err(); err != nil {
		return err
	}
	found, err := a.deps.Operators.OperatorActs(r.Context(), f, limit+1)
	if err != nil {
		return err
	}
	meta := reply.Meta{Limit: limit, HasMore: len(found) > limit}
	if meta.HasMore {
		found = found[:limit]
		next := strconv.FormatInt(found[limit-1].ID, 10)
		meta.NextCursor = &next
	}
	meta.Total = int64(len(found))
	meta.Truncated = &meta.HasMore
	acts := make([]actAnswer, len(found))
	for i := range found {
		acts[i] = actOf(&found[i])
	}
	reply.List(w, r, acts, meta)
	return nil
}

// actAnswer is an entry of the audit trail in responses.
type actAnswer struct {
	Timestamp   time.Time     `json:"timestamp"`
	RequestID   string        `json:"requestId"`
	Operator    *operatorName `json:"operator"` // null: unknown
	WorkspaceID *uuid.UUID    `json:"workspaceId"`
	Method      string        `json:"method"`
	Route       string        `json:"route"`
	Subject     string        `json:"subject"`
	Status      *int16        `json:"status"` // null: unknown
	IP          *string       `json:"ip"`
	UserAgent   string        `json:"userAgent"`
	Actor       string        `json:"actor"` // the operator's name, or the user of the command line
	Results     []string      `json:"results"`
	Fields      []string      `json:"fields"`
}

func actOf(act *access.OperatorAct) actAnswer {
	shown := actAnswer{
		Timestamp: act.At, RequestID: act.RequestID, WorkspaceID: act.Workspace, Method: act.Method, Route: act.Route,
		Subject: act.Subject, Status: act.Status, UserAgent: act.UserAgent, Actor: act.OperatorName, Results: act.Results,
		Fields: act.Fields,
	}
	if act.Operator != nil {
		shown.Operator = &operatorName{ID: *act.Operator, Name: act.OperatorName}
	}
	if act.IP != nil {
		shown.IP = new(act.IP.String())
	}
	return shown
}
