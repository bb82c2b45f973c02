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

// newAdmin creates the server side of the admin UI. Sessions are not looked up on the
// connections of the keys, so that requests to the admin UI do not delay checks of keys.
func (b *builder) newAdmin(limits *ratelimit.Limiter) (*admin.Admin, error) {
	webUI, err := web.Dist()
	if err != nil {
		return nil, fmt.Errorf("reading the admin UI: %w", err)
	}
	return admin.New(admin.Deps{
		Operators: b.Postgres, Workspaces: b.Postgres, Keys: b.Postgres, Limits: limits, PublicURL: b.Config.API.PublicURL,
		Files:          webUI,
		TrailRetention: b.Config.Audit.Retention(), Logger: b.Logger, Metrics: b.Metrics,
		Overview: &admin.Overview{Version: b.Version, Roles: b.Config.RoleNames(), Started: time.Now(), Metrics: b.Metrics},
	})
}

// adminRoutes returns the routes of operators and of the admin UI.
func (b *builder) adminRoutes(operators *admin.Admin) []route.Route {
	return slices.Concat(operators.Routes(), audit.OperatorRoutes(b.auditDeps()), pipeline.Routes(pipeline.Deps{
		Pipeline: pipelineadmin.New(b.Kafka, b.Postgres), Index: b.Postgres, TokenKey: b.Installation.CheckpointKey,
		QueryTimeout: b.Config.API.QueryTimeout,
	}))
}
