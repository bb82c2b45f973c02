package clickhouse

import (
	"context"
	"fmt"
	"math"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// SeriesStats is what a series holds.
type SeriesStats struct {
	FirstUS, LastUS int64 // timestamps of the oldest and the newest point, microseconds
	Count           int64 // points that stand
}

// SeriesStats counts the points of series, all that are kept and not deleted; series
// without points are left out.
func (db *DB) SeriesStats(ctx context.Context, numbers, texts []uint64, kept Kept, hidden Hidden) (map[uint64]SeriesStats, error) {
	found := map[uint64]SeriesStats{}
	all := Range{FromUS: math.MinInt64, ToUS: math.MaxInt64, Hidden: hidden}
	if err := all.hide(all.FromUS, numbers, texts); err != nil {
		return nil, err
	}
	for table, series := range map[string][]uint64{tableNumbers: numbers, tableTexts: texts} {
		if len(series) == 0 {
			continue
		}
		statement := fmt.Sprintf(`
			SELECT series, toUnixTimestamp64Micro(min(ts)), toUnixTimestamp64Micro(max(ts)), toInt64(count())
			FROM %s FINAL PREWHERE series IN (%s)%s%s GROUP BY series`,
			table, idArray(series), kept.condition(series, math.MinInt64), all.leavingOut("WHERE"))
		err := db.query(ctx, opStats, statement, nil, func(scan func(...any) error) error {
			var (
				id uint64
				s  SeriesStats
			)
			if err := scan(&id, &s.FirstUS, &s.LastUS, &s.Count); err != nil {
				return err
			}
			found[id] = s
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// SourceActivity tells when each source was last heard from: when the API
// received its newest request, whatever the points' times. Sources that were
// never heard from are left out.
func (db *DB) SourceActivity(ctx context.Context, workspace uuid.UUID, sources []uuid.UUID) (map[uuid.UUID]time.Time, error) {
	found := make(map[uuid.UUID]time.Time, len(sources))
	if len(sources) == 0 {
		return found, nil
	}
	err := db.query(ctx, opActivity, `
		SELECT source, toUnixTimestamp64Micro(max(received_at)) FROM source_activity
		WHERE workspace = {workspace:UUID} AND source IN {sources:Array(UUID)} GROUP BY source`,
		ch.Parameters{"workspace": workspace.String(), "sources": uuidArray(sources)},
		func(scan func(...any) error) error {
			var (
				id uuid.UUID
				us int64
			)
			if err := scan(&id, &us); err != nil {
				return err
			}
			found[id] = time.UnixMicro(us).UTC()
			return nil
		})
	return found, err
}
