package query

import (
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// keptFrom returns the time of the oldest points that are kept of each series with a retention.
func keptFrom(list []registry.Series, now time.Time) timeseries.KeptFrom {
	var kept timeseries.KeptFrom
	for i := range list {
		days := list[i].RetentionDays
		if days == nil {
			continue
		}
		if kept == nil {
			kept = timeseries.KeptFrom{}
		}
		kept[list[i].ID] = registry.KeptFrom(now, *days)
	}
	return kept
}
