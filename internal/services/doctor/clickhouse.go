package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/livegraph/livegraph/internal/platform/bytesize"
	store "github.com/livegraph/livegraph/storage/clickhouse"
)

const (
	// maxPartsPerPartition is the number of parts in one partition above which to warn.
	// ClickHouse delays inserts at 1,000 parts and rejects them at 3,000.
	maxPartsPerPartition = 600
	// minFreeDiskShare is the free share of a disk below which to warn.
	minFreeDiskShare = 0.1
	// maxRollupLag is the rollup lag above which to warn; up to 70 minutes is normal.
	maxRollupLag = 3 * time.Hour
)

func checkClickHouse(ctx context.Context, t Target) []Result {
	if t.ClickHouseURL == "" {
		return missing("clickhouse", "LIVEGRAPH_CLICKHOUSE_URL")
	}
	address := redactURL(t.ClickHouseURL)
	files, err := t.ClickHouseTLS.Client("clickhouse-tls")
	if err != nil {
		return failed("clickhouse", address, err, filesAdvice)
	}
	options, err := store.Driver(t.ClickHouseURL, files)
	if err != nil {
		return failed("clickhouse", address, err, "correct LIVEGRAPH_CLICKHOUSE_URL")
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return failed("clickhouse", address, err, "correct LIVEGRAPH_CLICKHOUSE_URL")
	}
	defer conn.Close()
	r := Result{Name: "clickhouse", Status: OK, Address: address}
	layout := store.NewLayout(t.ClickHouseCluster, options.Auth.Database)
	if err := r.readClickHouse(ctx, conn, layout); err != nil {
		return failed("clickhouse", address, err, clickhouseAdvice(err))
	}
	return []Result{r}
}

func (r *Result) readClickHouse(ctx context.Context, conn driver.Conn, layout store.Layout) (err error) {
	if r.LatencyMS, err = medianLatency(func() error { return conn.Ping(ctx) }); err != nil {
		return err
	}
	var disk, parts, maxParts, free, total uint64
	if err := conn.QueryRow(ctx, `SELECT version()`).Scan(&r.Version); err != nil {
		return err
	}
	// The casts are required because over HTTP the types of a result must match the destinations.
	err = conn.QueryRow(ctx, `SELECT toUInt64(sum(bytes)), toUInt64(sum(n)), toUInt64(max(n)) FROM (
		SELECT sum(bytes_on_disk) AS bytes, count() AS n FROM `+layout.System("parts")+`
		WHERE active AND database = `+layout.Database()+` GROUP BY table, partition`+layout.PerServer()+`)`,
	).Scan(&disk, &parts, &maxParts)
	if err != nil {
		return err
	}
	if err := conn.QueryRow(
		ctx, `SELECT toUInt64(min(free_space)), toUInt64(min(total_space)) FROM `+layout.System("disks"),
	).Scan(&free, &total); err != nil {
		return err
	}
	bytes := int64(disk)
	r.DiskBytes = &bytes
	r.Detail = fmt.Sprintf("%d parts, at most %d in a partition", parts, maxParts)
	if maxParts > maxPartsPerPartition {
		r.warn(
			"inserts are about to be slowed down",
			"let merges catch up: fewer and larger inserts (LIVEGRAPH_POINTS_BATCH_WAIT), faster disks, or fewer old months "+
				"written at once",
		)
	}
	if total > 0 && float64(free) < minFreeDiskShare*float64(total) {
		r.warn(
			fmt.Sprintf("%s of %s free on its disk", bytesize.Format(int64(free)), bytesize.Format(int64(total))),
			"free disk space, or shorten the retention of points",
		)
	}
	return r.readRollups(ctx, conn)
}

// readRollups reports the time up to which rollups are complete. A database that has
// not been migrated has no rollups, which is not a finding.
func (r *Result) readRollups(ctx context.Context, conn driver.Conn) error {
	var tables, passes uint64
	var cleanUS, nowUS int64
	if err := conn.QueryRow(
		ctx, `SELECT toUInt64(count()) FROM system.tables WHERE database = currentDatabase() AND name = 'rollup_state'`,
	).Scan(&tables); err != nil || tables == 0 {
		return err
	}
	err := conn.QueryRow(
		ctx, `SELECT max(epoch), max(clean), toUnixTimestamp64Micro(now64(6)) FROM rollup_state`,
	).Scan(&passes, &cleanUS, &nowUS)
	if err != nil || passes == 0 || cleanUS == 0 {
		return err
	}
	clean := time.UnixMicro(cleanUS).UTC()
	r.Detail += ", rollups up to " + clean.Format(time.RFC3339)
	if behind := time.UnixMicro(nowUS).Sub(clean); behind > maxRollupLag {
		r.warn(fmt.Sprintf("rollups are %s behind, so queries of long ranges are slow", behind.Round(time.Minute)),
			"check that a process with role points runs, and check its log; rollups that are catching up need no action")
	}
	return nil
}

// clickhouseAdvice returns the advice for an error.
func clickhouseAdvice(err error) string {
	if advice := tlsSettings("LIVEGRAPH_CLICKHOUSE_URL").Advice(err); advice != "" {
		return advice
	}
	var exception *clickhouse.Exception
	if errors.As(err, &exception) {
		switch exception.Code {
		case 516, 194, 192:
			return "correct user and password in LIVEGRAPH_CLICKHOUSE_URL"
		case 81:
			return "create the database that LIVEGRAPH_CLICKHOUSE_URL names"
		case 497:
			return "grant the user SELECT on system.parts and system.disks, and all on its database; on a cluster also " +
				"CLUSTER and REMOTE"
		case 170, 701:
			return "correct LIVEGRAPH_CLICKHOUSE_CLUSTER, or add the cluster to remote_servers of ClickHouse"
		case 241:
			return "give ClickHouse more memory"
		}
	}
	return reachAdvice("LIVEGRAPH_CLICKHOUSE_URL", logFile("clickhouse"))
}
