package postgres

// The plans' requests a minute and a day. Enterprise has none of its own.
var planLimits = map[string][2]int64{
	"starter": {60, 10_000},
	"pro":     {300, 100_000},
}

// RequestLimits gives the workspace's requests a minute and a day: its own where
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
