package clickhouse

import (
	"fmt"
	"time"
)

// timed is a table whose rows are of a series (column series) and a time. Retention
// and the deletion of sources and workspaces go through all of them; a new table is
// added in timedTables, and that is all.
type timed struct {
	name  string
	ts    string        // the column of the time
	reach time.Duration // how much time a row is about, from ts on; zero: that moment
}

func timedTables() []timed {
	return []timed{
		{name: TableNumbers, ts: "ts"}, {name: TableTexts, ts: "ts"},
		{name: TableMinutes, ts: "ts", reach: time.Minute}, {name: TableHours, ts: "ts", reach: time.Hour},
	}
}

// before is the condition that all that a row is about lies before a time.
func (t *timed) before(us int64) string {
	if t.reach == 0 {
		return fmt.Sprintf("%s < %s", t.ts, Moment(us))
	}
	return fmt.Sprintf("%s <= %s", t.ts, Moment(us-t.reach.Microseconds()))
}
