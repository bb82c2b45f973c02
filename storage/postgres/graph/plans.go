package graphstore

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// For statements on few rows, Postgres plans each execution again, because the plan for the actual
// arrays seems cheaper than a generic one. Planning takes longer than executing them. So the
// transactions of small groups use generic plans.
//
// A generic plan is made for the size of the tables at that time: with an empty table, any index
// seems as good as the primary key. Statistics replace it only after a minute. So a connection
// makes its plans again before the tables can have grown by much, and large groups do not use them:
// left to itself, Postgres would prefer them, because they are made for few rows.
const (
	smallGroupRows = 100         // maximum of a group that uses generic plans
	maxPlanAge     = time.Second // of generic plans
	maxPlannedRows = 500         // read and written by generic plans
)

const (
	groupSettings      = postgres.UseIndexScans + `, set_config('statement_timeout', $1, true)`
	smallGroupSettings = groupSettings + `, set_config('plan_cache_mode', 'force_generic_plan', true)`
	largeGroupSettings = groupSettings + `, set_config('plan_cache_mode', 'force_custom_plan', true)`
)

// connPlans is the state of a connection's generic plans.
type connPlans struct {
	made time.Time
	rows int // for which they were used
}

// connPlansKey is the key of the *connPlans in the connection's custom data.
const connPlansKey = "graphstore.plans"

// use records a use of the plans for some rows, and reports whether they must be made again first.
func (p *connPlans) use(rows int, now time.Time) (again bool) {
	p.rows += rows
	if again = now.Sub(p.made) > maxPlanAge || p.rows > maxPlannedRows; again {
		*p = connPlans{made: now, rows: rows}
	}
	return again
}

// queueSettings queues the settings of the transaction of a group that reads the given number of
// rows.
func (c *graphConn) queueSettings(b *pgx.Batch, rows int, timeout string) {
	if rows > smallGroupRows {
		b.Queue(largeGroupSettings, timeout)
		return
	}
	data := c.Conn.Conn().PgConn().CustomData()
	plans, ok := data[connPlansKey].(*connPlans)
	if !ok {
		plans = &connPlans{}
		data[connPlansKey] = plans
	}
	if plans.use(rows, time.Now()) {
		b.Queue("DISCARD PLANS")
	}
	b.Queue(smallGroupSettings, timeout)
}
