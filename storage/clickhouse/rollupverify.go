package clickhouse

import (
	"context"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// computeUnmatched computes the part of a window whose rollups do not match its points. Unless points
// were deleted, most rollups of InsertRollups do.
func (r *passRun) computeUnmatched(ctx context.Context, w window) (took time.Duration, err error) {
	began := time.Now()
	rest, found, err := r.unmatched(ctx, w)
	if err != nil || !found {
		return time.Since(began), err
	}
	err = r.compute(ctx, rest)
	return time.Since(began), err
}

// unmatched returns the part of a window whose rollups do not match its points, or false if all do.
func (r *passRun) unmatched(ctx context.Context, w window) (window, bool, error) {
	if w.removal {
		return w, true, nil
	}
	// Minutes may be stored without their hour, also after their points were deleted.
	stored, err := r.db.anyRow(ctx, TableMinutes+" WHERE "+w.condition())
	if err != nil {
		return w, false, fmt.Errorf("looking for stored rollups: %w", err)
	}
	if !stored {
		return w, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, RollUpLimit+statementGrace)
	defer cancel()
	var ids []uint64
	rest := window{from: w.to, to: w.from, marked: w.marked}
	statement := unmatchedHours(r.db.layout, w.condition(), maxLateSeries+1)
	err = r.db.eachRow(ch.Context(ctx, ch.WithSettings(r.settings())), statement,
		func(rows driver.Rows) error {
			var (
				id       uint64
				from, to int64
				removal  bool
			)
			err := rows.Scan(&id, &from, &to, &removal)
			ids = append(ids, id)
			rest.from, rest.to, rest.removal = min(rest.from, from), max(rest.to, to+HourUS), rest.removal || removal
			return err
		})
	switch {
	case err != nil:
		return w, false, fmt.Errorf("comparing rollups with points: %w", err)
	case len(ids) == 0:
		return w, false, nil
	case len(ids) > maxLateSeries:
		w.removal = true
		return w, true, nil
	}
	rest.from, rest.to = max(rest.from, w.from), min(rest.to, w.to)
	rest.series = "series IN (" + joinIDs(ids) + ")"
	return rest, true, nil
}

// unmatchedHours returns the query for the series of a window with hours whose rollups do not match their
// points: the first and the last such hour, and whether there are rollups that may have no points any
// more. At most limit series are returned.
//
// The rollups of an hour match if the row of the hour has as many points as are stored, and the fingerprints
// of the stored points and of the rows of its minutes. Points with several rows never match, and neither do
// the hours that passes compute, which have no fingerprint.
func unmatchedHours(l Layout, where string, limit int) string {
	hour := "toUnixTimestamp64Micro(" + startOf("Hour") + ") AS hour"
	query := fmt.Sprintf(`
		SELECT series, min(hour), max(hour), max(minutes_ + hours_ > 0) FROM (
			SELECT series, hour, sum(points_) AS stored_, sum(in_minutes_) AS minutes_, sum(in_hour_) AS hours_
			FROM (
				SELECT series, %[1]s, count() AS points_, 0 AS in_minutes_, 0 AS in_hour_, %[3]s AS print_,
					toUInt64(0) AS minutes_print_, toUInt64(0) AS expected_, toUInt64(0) AS minutes_expected_
				FROM %[4]s PREWHERE %[2]s GROUP BY series, hour
				UNION ALL
				SELECT series, %[1]s, 0, sum(points), 0, 0, %[7]s, 0, 0
				FROM %[5]s FINAL PREWHERE %[2]s GROUP BY series, hour
				UNION ALL
				SELECT series, %[1]s, 0, 0, points, 0, 0, fingerprint, minutes_fingerprint
				FROM %[6]s FINAL PREWHERE %[2]s
			)
			GROUP BY series, hour
			HAVING stored_ != hours_ OR sum(print_) != sum(expected_) OR sum(minutes_print_) != sum(minutes_expected_)
		)
		GROUP BY series`, hour, where, fingerprintSum, l.ShardTable(TablePoints), l.ShardTable(TableMinutes),
		l.ShardTable(TableHours), rowFingerprintSum())
	return l.OnShards(query) + fmt.Sprintf(" ORDER BY series LIMIT %d", limit)
}
