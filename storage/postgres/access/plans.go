package access

// Plans of workspaces. The first two have their own limits; a workspace of the third
// has those that are set for it, or none.
const (
	PlanStarter    = "starter"
	PlanPro        = "pro"
	PlanEnterprise = "enterprise"
)

// Plans returns the names of the plans, smallest first.
func Plans() []string { return []string{PlanStarter, PlanPro, PlanEnterprise} }

// The plans' requests a minute and a day.
var planLimits = map[string][2]int64{
	PlanStarter: {60, 10_000},
	PlanPro:     {300, 100_000},
}

// RequestLimits returns the workspace's requests a minute and a day: its own where
// they are set, else its plan's; nil is unlimited.
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
