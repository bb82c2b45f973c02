package clickhouse

import (
	"fmt"
	"time"
)

// timedTable is a table whose rows have a series (column series) and a time. Retention and
// the deletion of sources and workspaces process all of these tables. A new table must only
// be added to timedTables.
type timedTable struct {
	name   string
	ts     string        // the column of the time
	length time.Duration // time range of a row, from ts on; zero: a row is of one instant
}

func timedTables() []timedTable {
	return []timedTable{
		{name: TablePoints, ts: "ts"}, {name: TableStates, ts: "ts"}, {name: TableExemplars, ts: "ts"},
		{name: TableMinutes, ts: "ts", length: time.Minute}, {name: TableHours, ts: "ts", length: time.Hour},
	}
}

// before returns the condition that the whole time range of a row is before a time.
func (t *timedTable) before(us int64) string {
	if t.length == 0 {
		return fmt.Sprintf("%s < %s", t.ts, TimeExpression(us))
	}
	return fmt.Sprintf("%s <= %s", t.ts, TimeExpression(us-t.length.Microseconds()))
}
