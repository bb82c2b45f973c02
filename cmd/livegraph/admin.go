package main

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
func (p *process) newAdmin(limits *ratelimit.Limiter) (*admin.Admin, error) {
	page, err := web.Dist()
	if err != nil {
		return nil, fmt.Errorf("reading the administration page: %w", err)
	}
	return admin.New(admin.Deps{
		Operators: p.postgres, Workspaces: p.postgres, Keys: p.postgres, Limits: limits, PublicURL: p.cfg.API.PublicURL,
		Page:      page,
		TrailKept: p.cfg.Audit.Retention(), Logger: p.logger, Metrics: p.metrics,
		Overview: &admin.Overview{Version: version, Roles: p.cfg.RoleNames(), Started: time.Now(), Metrics: p.metrics},
	})
}

// adminRoutes are those of operators, and the page.
func (p *process) adminRoutes() []route.Route {
	return slices.Concat(p.admin.Routes(), audit.OperatorRoutes(p.auditDeps()), pipeline.Routes(pipeline.Deps{
		Pipeline: pipelineadmin.New(p.kafka, p.postgres), Index: p.postgres, TokenKey: p.install.CheckpointKey,
		QueryTimeout: p.cfg.API.QueryTimeout,
	}))
}
