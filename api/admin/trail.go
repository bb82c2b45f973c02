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
	// longestNoted bounds each text of a client's that is noted.
	longestNoted = 256
	// noteTimeout bounds how long it is tried to note how an act ended.
	noteTimeout = 5 * time.Second
)

// Record notes what an operator is about to do on a route. It is done only if it can be
// noted; end is to be told the status with which it was answered, 0 if it was cut off.
func (a *Admin) Record(r *http.Request, pattern string) (end func(status int), err error) {
	act := a.act(r, pattern)
	if o := request.OperatorOf(r.Context()); o != nil {
		act.Operator, act.OperatorName = &o.ID, o.Name
	}
	read := readOf(&act)
	if inBackground(r) && a.notedBefore(read) {
		return func(int) {}, nil
	}
	id, err := a.deps.Operators.BeginOperatorAct(r.Context(), act)
	if err != nil {
		return nil, err
	}
	a.polled.Set(read, time.Now())
	return func(status int) {
		if status == 0 {
			return
		}
		notes := request.NotesOf(r.Context())
		if notes.Command != uuid.Nil {
			notes.Made(notes.Command.String())
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), noteTimeout)
		defer cancel()
		if err := a.deps.Operators.EndOperatorAct(ctx, id, int16(status), notes.Results, notes.Fields); err != nil {
			a.logger.WarnContext(ctx, "how an operator's act ended cannot be noted", "act", id, "status", status, "error", err)
		}
	}, nil
}

// What an open page asks again and again by itself is noted once in pollsNoted.
const (
	pollsNoted = 10 * time.Minute
	maxPolled  = 4096
)

// polledRead is what reads have in common that are noted once.
type polledRead struct {
	operator, workspace uuid.UUID
	method, route       string
	subject             string
}

func readOf(act *access.OperatorAct) polledRead {
	read := polledRead{method: act.Method, route: act.Route, subject: act.Subject}
	if act.Operator != nil {
		read.operator = *act.Operator
	}
	if act.Workspace != nil {
		read.workspace = *act.Workspace
	}
	return read
}

// notedBefore reports whether the same was noted a short time ago.
func (a *Admin) notedBefore(read polledRead) bool {
	at, known := a.polled.GetIfPresent(read)
	return known && time.Since(at) < pollsNoted
}

// act is what is known of an act by its request.
func (a *Admin) act(r *http.Request, pattern string) access.OperatorAct {
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

// subject is what a request's path names.
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

// clean returns what may be kept of a client's text.
func clean(text string) string { return auditrecord.Clean(text, longestNoted) }

// trail lists what operators did, newest first.
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

// actAnswer is an act as it is shown.
type actAnswer struct {
	Timestamp   time.Time     `json:"timestamp"`
	RequestID   string        `json:"requestId"`
	Operator    *operatorName `json:"operator"` // null: nobody who is known
	WorkspaceID *uuid.UUID    `json:"workspaceId"`
	Method      string        `json:"method"`
	Route       string        `json:"route"`
	Subject     string        `json:"subject"`
	Status      *int16        `json:"status"` // null: not known
	IP          *string       `json:"ip"`
	UserAgent   string        `json:"userAgent"`
	Actor       string        `json:"actor"` // the operator's name, or who used the command line
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
