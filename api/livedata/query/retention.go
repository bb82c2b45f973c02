package query

import (
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// keptFrom returns the time of the oldest points that are kept of each series with a retention.
func keptFrom(list []registry.Series, now time.Time) timeseries.Kept {
	var kept timeseries.Kept
	for i := range list {
		days := list[i].RetentionDays
		if days == nil {
			continue
		}
		if kept == nil {
			kept = timeseries.Kept{}
		}
		kept[list[i].ID] = registry.KeptFrom(now, *days)
	}
	return kept
}
