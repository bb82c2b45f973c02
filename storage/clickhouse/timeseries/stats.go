package timeseries

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// SeriesStats describes the points of a series.
type SeriesStats struct {
	FirstUS, LastUS int64 // timestamps of the oldest and the newest point, microseconds
	Count           int64 // number of points, without overwritten and deleted ones
}

// statsEndUS is later than every point, because points more than a day in the future are not
// accepted. No point is before 1970.
const statsEndUS = 1 << 53

// SeriesStats counts the points of series that are kept and not deleted. Series without
// points are left out. It counts numbers by rollups where these are valid, and otherwise by
// points.
func (r *Reader) SeriesStats(
	ctx context.Context, numbers, texts []uint64, kept KeptFrom, hidden Hidden,
) (map[uint64]SeriesStats, error) {
	found := map[uint64]SeriesStats{}
	for table, series := range map[string][]uint64{clickhouse.TablePoints: numbers, clickhouse.TableStates: texts} {
		if len(series) == 0 {
			continue
		}
		statement, err := r.statsStatement(ctx, table, series, Range{ToUS: statsEndUS, KeptFrom: kept, Hidden: hidden})
		if err != nil {
			return nil, err
		}
		err = r.untilCertain(func(how reading) (bool, error) { return r.readStats(ctx, statement(how), found) })
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readStats runs a statement of statsStatement, and adds its rows to found. It reports whether
// points may be counted several times.
func (r *Reader) readStats(
	ctx context.Context, statement string, found map[uint64]SeriesStats,
) (repeated bool, err error) {
	err = r.db.Query(ctx, clickhouse.OpStats, statement, nil, func(scan func(...any) error) error {
		var (
			id        uint64
			s         SeriesStats
			uncertain uint8
		)
		if err := scan(&id, &s.FirstUS, &s.LastUS, &s.Count, &uncertain); err != nil {
			return err
		}
		repeated = repeated || uncertain > 0
		found[id] = s
		return nil
	})
	return repeated, err
}

// statsStatement returns a function that returns the statement that counts the points of series of a
// table.
func (r *Reader) statsStatement(
	ctx context.Context, table string, series []uint64, all Range,
) (func(reading) string, error) {
	if err := all.applyHidden(all.FromUS, series); err != nil {
		return nil, err
	}
	q := &AggregateQuery{Series: series, IsString: table == clickhouse.TableStates, Range: all, layout: r.db.Layout()}
	p, err := r.plan(ctx, q, []Function{Count, First, Last})
	if err != nil {
		return nil, err
	}
	if p == nil {
		return func(reading) string {
			return fmt.Sprintf(`
			SELECT series, toUnixTimestamp64Micro(min(ts)), toUnixTimestamp64Micro(max(ts)), toInt64(count()), toUInt8(0)
			FROM %s FINAL PREWHERE series IN (%s)%s%s GROUP BY series`,
				table, clickhouse.IDArray(series), all.KeptFrom.condition(series, math.MinInt64),
				all.hiddenCondition("WHERE"))
		}, nil
	}
	return func(how reading) string {
		columns := []rollupColumn{firstAtColumn, lastAtColumn, countColumn}
		subqueries := p.subqueries(q, columns, func(series []uint64, where string) string {
			return q.pointsStatement(columns, series, where, how)
		})
		return fmt.Sprintf(`
			SELECT series, toInt64(min(head_at)), toInt64(max(tail_at)), toInt64(sum(n)), max(uncertain)
			FROM (%s) GROUP BY series`, strings.Join(subqueries, " UNION ALL "))
	}, nil
}

// SourceActivity returns the time at which the API received the newest request of each
// source, independent of the times of the points. Sources without requests are left out.
func (r *Reader) SourceActivity(
	ctx context.Context, workspace uuid.UUID, sources []uuid.UUID,
) (map[uuid.UUID]time.Time, error) {
	found := make(map[uuid.UUID]time.Time, len(sources))
	if len(sources) == 0 {
		return found, nil
	}
	err := r.db.Query(ctx, clickhouse.OpActivity, `
		SELECT source, toUnixTimestamp64Micro(max(received_at)) FROM source_activity
		WHERE workspace = {workspace:UUID} AND source IN {sources:Array(UUID)} GROUP BY source`,
		ch.Parameters{"workspace": workspace.String(), "sources": clickhouse.UUIDArray(sources)},
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
