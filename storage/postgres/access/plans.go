package access

// Plans of workspaces. Starter and pro have default limits. A workspace on enterprise has
// only the limits that are set for it.
const (
	PlanStarter    = "starter"
	PlanPro        = "pro"
	PlanEnterprise = "enterprise"
)

// Plans returns the names of the plans, smallest first.
func Plans() []string { return []string{PlanStarter, PlanPro, PlanEnterprise} }

// planLimits has the plans' default limits of requests per minute and per day.
var planLimits = map[string][2]int64{
	PlanStarter: {60, 10_000},
	PlanPro:     {300, 100_000},
}

// RequestLimits returns the workspace's limits of requests per minute and per day: its own
// where they are set, else those of its plan. nil is unlimited.
func (w *Workspace) RequestLimits() (perMinute, perDay *int64) {
	perMinute, perDay = w.PerMinute, w.PerDay
	if plan, ok := planLimits[w.Plan]; ok {
		if perMinute == nil {
			perMinute = &plan[0]
		}
		if perDay == nil {
			perDay = &plan[1]
		}
	}
	return perMinute, perDay
}
