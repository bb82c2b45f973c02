package audit

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
)

// Deps are the dependencies of the routes.
type Deps struct {
	Records records
	// Retention is how long records are shown; 0: forever.
	Retention time.Duration
	// TokenKey signs cursors. It is the same in every process of the installation.
	TokenKey [32]byte
	// QueryTimeout is the maximum time of a query, after which the request is answered 504.
	QueryTimeout time.Duration
}

// records reads audit records.
type records interface {
	Audit(
		ctx context.Context, f auditlog.Filter, after *auditlog.Position, offset, limit int,
	) ([]auditrecord.Record, error)
	CountAudit(ctx context.Context, f auditlog.Filter, limit int) (int64, error)
	AuditUsage(
		ctx context.Context, f auditlog.Filter, byDay bool, offset, limit int,
	) ([]auditlog.Usage, int64, error)
}

type api struct {
	Deps
	sealer token.Sealer
}

// Paths of the group.
const (
	auditPath = "/api/admin/audit"
	usagePath = "/api/admin/usage"
	// operatorsAuditPath is the path of the admin UI.
	operatorsAuditPath = "/admin/api/audit"
)

// Routes returns the group's routes, which read the audit log of a workspace.
func Routes(deps Deps) []route.Route {
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	admin := []request.Scope{request.Admin}
	return []route.Route{
		{Method: http.MethodGet, Pattern: auditPath, Scopes: admin, Handle: a.list},
		{Method: http.MethodGet, Pattern: usagePath, Scopes: admin, Handle: a.usage},
	}
}

// OperatorRoutes returns the routes of the admin UI, which read the audit log of all
// workspaces and the counts of requests without a known key.
func OperatorRoutes(deps Deps) []route.Route {
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	return []route.Route{
		{Method: http.MethodGet, Pattern: operatorsAuditPath, Access: route.Operator, Handle: a.listAll, ReadsData: true},
	}
}

// withinRetention limits the range of a filter to the retention. Older records are not
// returned, even if they are still stored.
func withinRetention(f auditlog.Filter, retention time.Duration) auditlog.Filter {
	if retention <= 0 {
		return f
	}
	if oldest := time.Now().Add(-retention); f.From.Before(oldest) {
		f.From = oldest
	}
	return f
}

// filter reads the filter from the parameters, for a workspace or, if it is nil, for all.
func filter(p *request.Params, workspace *uuid.UUID) auditlog.Filter {
	f := auditlog.Filter{Workspace: workspace, Keys: p.UUIDs("keyId")}
	for _, text := range p.List("status") {
		span, ok := ParseStatus(text)
		if !ok {
			p.Fail("status", statusForms)
		}
		f.Statuses = append(f.Statuses, span)
	}
	f.Route, _ = p.String("route")
	if len(f.Route) > maxRoute {
		p.Fail("route", "is longer than any route")
	}
	if text, given := p.String("ip"); given {
		var ok bool
		if f.IP, ok = ParseAddress(text); !ok {
			p.Fail("ip", "must be an IP address")
		}
	}
	if text, given := p.String("requestId"); given {
		if f.RequestID = text; !requestID.MatchString(text) {
			p.Fail("requestId", "must be a request id: req_ and 26 characters")
		}
	}
	if at := p.Time("from"); at != nil {
		f.From = *at
	}
	if at := p.Time("to"); at != nil {
		f.To = *at
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		p.Fail("to", "must be after from")
	}
	return f
}
