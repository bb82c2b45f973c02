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

// newAdmin creates the server's side of the administration page. Sessions are not looked up
// over the connections of the keys: nothing that is sent to the page holds keys up.
func (b *builder) newAdmin(limits *ratelimit.Limiter) (*admin.Admin, error) {
	page, err := web.Dist()
	if err != nil {
		return nil, fmt.Errorf("reading the administration page: %w", err)
	}
	return admin.New(admin.Deps{
		Operators: b.Postgres, Workspaces: b.Postgres, Keys: b.Postgres, Limits: limits, PublicURL: b.Config.API.PublicURL,
		Page:      page,
		TrailKept: b.Config.Audit.Retention(), Logger: b.Logger, Metrics: b.Metrics,
		Overview: &admin.Overview{Version: b.Version, Roles: b.Config.RoleNames(), Started: time.Now(), Metrics: b.Metrics},
	})
}

// adminRoutes are those of operators, and the page.
func (b *builder) adminRoutes(operators *admin.Admin) []route.Route {
	return slices.Concat(operators.Routes(), audit.OperatorRoutes(b.auditDeps()), pipeline.Routes(pipeline.Deps{
		Pipeline: pipelineadmin.New(b.Kafka, b.Postgres), Index: b.Postgres, TokenKey: b.Installation.CheckpointKey,
		QueryTimeout: b.Config.API.QueryTimeout,
	}))
}
