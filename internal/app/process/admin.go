package process

import (
	"fmt"
	"slices"
	"time"

	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/api/admin/pipeline"
	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/web"
)

// newAdmin makes the server's side of the administration page. Sessions are not looked up
// over the connections of the keys: nothing that is sent to the page holds keys up.
func (p *Process) newAdmin(limits *ratelimit.Limiter) (*admin.Admin, error) {
	page, err := web.Dist()
	if err != nil {
		return nil, fmt.Errorf("reading the administration page: %w", err)
	}
	return admin.New(admin.Deps{
		Operators: p.Postgres, Workspaces: p.Postgres, Keys: p.Postgres, Limits: limits, PublicURL: p.Cfg.API.PublicURL,
		Page:      page,
		TrailKept: p.Cfg.Audit.Retention(), Logger: p.Logger, Metrics: p.Metrics,
		Overview: &admin.Overview{Version: p.version, Roles: p.Cfg.RoleNames(), Started: time.Now(), Metrics: p.Metrics},
	})
}

// adminRoutes are those of operators, and the page.
func (p *Process) adminRoutes() []route.Route {
	return slices.Concat(p.admin.Routes(), audit.OperatorRoutes(p.auditDeps()), pipeline.Routes(pipeline.Deps{
		Pipeline: pipelineadmin.New(p.Kafka, p.Postgres), Index: p.Postgres, TokenKey: p.Install.CheckpointKey,
		QueryTimeout: p.Cfg.API.QueryTimeout,
	}))
}
