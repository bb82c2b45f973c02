package clickhouse

import (
	"context"
	"errors"
	"sync"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Operations, as label values of metrics.
const (
	opInsertPoints = "insert_points"
	opInsertStates = "insert_states"
	opInsertLatest = "insert_latest"
	// opInsertExemplars inserts exemplars, and OpExemplars reads them.
	opInsertExemplars = "insert_exemplars"
	OpExemplars       = "query_exemplars"
	opInsertActivity  = "insert_activity"
	opInsertSeries    = "insert_series"
	opDelete          = "delete"
	OpExpire          = "expire"
	opErase           = "erase"
	OpRaw             = "query_raw"
	OpLatest          = "query_latest"
	OpAggregate       = "query_aggregate"
	OpDownsample      = "query_downsample"
	OpStats           = "query_stats"
	OpActivity        = "query_activity"
	opInsertMarks     = "insert_marks"
	OpRollupMarks     = "query_marks"
	opRollupState     = "insert_state"
	opRollup          = "insert_rollups"
	// opInsertAggregates inserts rollups that were computed while the points were stored.
	opInsertAggregates = "insert_aggregates"
	OpInsertAudit      = "insert_audit"
	OpAudit            = "query_audit"
	OpBackup           = "query_backup"
	OpRestore          = "insert_restore"
)

var operations = []string{
	opInsertPoints, opInsertStates, opInsertLatest, opInsertActivity, opInsertSeries, opDelete, OpExpire, opErase,
	OpRaw, OpLatest, OpAggregate, OpDownsample, OpStats, OpActivity, opInsertExemplars, OpExemplars,
	opInsertMarks, OpRollupMarks, opRollupState, opRollup, opInsertAggregates, OpInsertAudit, OpAudit,
}

// Kinds of errors, as label values of metrics.
const (
	kindTimeout     = "timeout"
	kindMemory      = "memory"
	kindOverloaded  = "overloaded" // too many queries or parts
	kindRefused     = "refused"    // because of the contents of the rows
	kindException   = "exception"  // any other error of the server
	kindUnavailable = "unavailable"
	kindCancelled   = "cancelled" // the caller cancelled the context
)

var errorKinds = []string{
	kindTimeout, kindMemory, kindOverloaded, kindRefused, kindException, kindUnavailable, kindCancelled,
}

const (
	codeTooManyParts = 252
	// storageInterval is how often parts and disks are measured.
	storageInterval = 30 * time.Second
	storageTimeout  = 5 * time.Second
)

// tables are the tables that are measured. Names of other tables never become labels.
var tables = map[string]bool{
	"points": true, "states": true, TableExemplars: true, "latest": true, "source_activity": true, "series": true,
	TableMinutes: true, TableHours: true, "rollup_marks": true, "rollup_state": true, "audit": true,
}

// Metrics are the metrics of the connection pools of this process. Several DBs may use the
// same Metrics one after the other; the metrics of the pools are those of the last one.
type Metrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	rows     *prometheus.CounterVec
	// aggregates counts queries by the tables that they read, and repeated those that were repeated
	// with FINAL.
	aggregates        *prometheus.CounterVec
	repeated          prometheus.Counter
	parts             *prometheus.GaugeVec
	bytes             *prometheus.GaugeVec
	maxPartitionParts prometheus.Gauge
	free              prometheus.Gauge
	total             prometheus.Gauge

	mu    sync.Mutex
	pools map[string]driver.Conn
}

// NewMetrics creates Metrics and registers them, unless registerer is nil.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	byTable := func(name, help string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"table"})
	}
	m := &Metrics{
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_clickhouse_operation_duration_seconds",
			Help:    "Duration of ClickHouse operations in seconds, including failed ones.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}, []string{"operation"}),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_clickhouse_errors_total",
			Help: "Total number of failed operations by kind: timeout, memory (memory limit), overloaded (too many queries or " +
				"parts, or no free connection in time), refused (invalid row contents), exception (any other server error), " +
				"unavailable (no response), cancelled (by the caller).",
		}, []string{"operation", "kind"}),
		rows: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_clickhouse_inserted_rows_total", Help: "Total number of inserted rows by operation.",
		}, []string{"operation"}),
		aggregates: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_query_rollup_total",
			Help: "Total number of aggregating queries by source: rollup_1h, rollup_1m (both with points where rollups do not " +
				"apply), raw (only points).",
		}, []string{"source"}),
		repeated: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_query_repeated_total",
			Help: "Total number of aggregating queries that ran a second time, with FINAL, because points may have several " +
				"rows: points that arrived out of order, again, or were overwritten.",
		}),
		parts: byTable("livegraph_clickhouse_parts", "Number of active parts by table, measured every 30 seconds."),
		bytes: byTable("livegraph_clickhouse_table_bytes", "Size of the active parts on disk by table, in bytes."),
		maxPartitionParts: gauge(
			"livegraph_clickhouse_partition_parts_max",
			"Maximum number of active parts in one partition of a table. ClickHouse delays inserts at 1,000 and rejects them "+
				"at 3,000.",
		),
		free:  gauge("livegraph_clickhouse_disk_free_bytes", "Free space of ClickHouse's fullest disk in bytes."),
		total: gauge("livegraph_clickhouse_disk_total_bytes", "Size of ClickHouse's fullest disk in bytes."),
		pools: map[string]driver.Conn{},
	}
	for _, operation := range operations {
		m.duration.WithLabelValues(operation)
		for _, kind := range errorKinds {
			m.errors.WithLabelValues(operation, kind)
		}
	}
	for _, source := range []string{SourcePoints, TableMinutes, TableHours} {
		m.aggregates.WithLabelValues(source)
	}
	if registerer != nil {
		registerer.MustRegister(m)
	}
	return m
}

// SourcePoints is the label value for an aggregate that is read from points only.
const SourcePoints = "raw"

// CountAggregate counts an aggregate by the source that it is read from: SourcePoints,
// TableMinutes or TableHours.
func (db *DB) CountAggregate(source string) { db.metrics.aggregates.WithLabelValues(source).Inc() }

// CountRepeated counts an aggregate that is repeated with FINAL.
func (db *DB) CountRepeated() { db.metrics.repeated.Inc() }

// Observe records a finished operation.
func (db *DB) Observe(operation string, began time.Time, err error) {
	db.metrics.observe(operation, began, 0, err)
}

// observe records a finished operation.
func (m *Metrics) observe(operation string, began time.Time, rows int, err error) {
	m.duration.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	if err != nil {
		m.errors.WithLabelValues(operation, errorKind(err)).Inc()
	} else if rows > 0 {
		m.rows.WithLabelValues(operation).Add(float64(rows))
	}
}

func errorKind(err error) string {
	var exception *ch.Exception
	switch {
	case errors.Is(err, context.Canceled):
		return kindCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return kindTimeout
	case errors.Is(err, ch.ErrAcquireConnTimeout):
		return kindOverloaded
	case !errors.As(err, &exception):
		return kindUnavailable
	case Permanent(err):
		return kindRefused
	}
	switch exception.Code {
	case codeTimeout, codeTooSlow, codeCancelled:
		return kindTimeout
	case codeMemoryLimit:
		return kindMemory
	case codeTooMany, codeTooManyParts:
		return kindOverloaded
	}
	return kindException
}

var (
	poolLabel = []string{"pool"}
	openDesc  = prometheus.NewDesc(
		"livegraph_clickhouse_connections",
		"Number of open connections by pool: bulk (inserts of points), reads (queries), main (everything else).",
		poolLabel, nil,
	)
	inUseDesc = prometheus.NewDesc(
		"livegraph_clickhouse_connections_in_use",
		"Number of connections in use by pool.",
		poolLabel,
		nil,
	)
	limitDesc = prometheus.NewDesc(
		"livegraph_clickhouse_connections_limit",
		"Maximum number of connections by pool. When it is reached, callers wait.",
		poolLabel, nil,
	)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- openDesc
	descs <- inUseDesc
	descs <- limitDesc
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pool, conn := range m.pools {
		s := conn.Stats()
		for desc, value := range map[*prometheus.Desc]int{
			openDesc: s.Open, inUseDesc: max(s.Open-s.Idle, 0), limitDesc: s.MaxOpenConns,
		} {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), pool)
		}
	}
}

func (m *Metrics) addPool(pool string, conn driver.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pools[pool] = conn
}

// WatchStorage measures parts and disks every storageInterval until ctx is done. It ignores
// errors, such as a missing grant.
func (db *DB) WatchStorage(ctx context.Context) error {
	tick := time.NewTicker(storageInterval)
	defer tick.Stop()
	for {
		db.measureStorage(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (db *DB) measureStorage(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	m, maxParts := db.metrics, uint64(0)
	err := db.eachRow(ctx, `
		SELECT table, toUInt64(sum(n)), toUInt64(sum(bytes)), toUInt64(max(n)) FROM (
			SELECT table, partition, count() AS n, sum(bytes_on_disk) AS bytes FROM `+db.layout.System("parts")+`
			WHERE active AND database = `+db.layout.Database()+` GROUP BY table, partition`+db.layout.PerServer()+`)
			GROUP BY table`,
		func(rows driver.Rows) error {
			var (
				table                        string
				parts, bytes, partitionParts uint64
			)
			err := rows.Scan(&table, &parts, &bytes, &partitionParts)
			if table = db.layout.TableOf(table); err != nil || !tables[table] {
				return err
			}
			m.parts.WithLabelValues(table).Set(float64(parts))
			m.bytes.WithLabelValues(table).Set(float64(bytes))
			maxParts = max(maxParts, partitionParts)
			return nil
		})
	if err == nil {
		m.maxPartitionParts.Set(float64(maxParts))
	}
	_ = db.eachRow(
		ctx,
		`SELECT toUInt64(free_space), toUInt64(total_space) FROM `+db.layout.System("disks")+`
			WHERE total_space > 0 ORDER BY free_space LIMIT 1`,
		func(rows driver.Rows) error {
			var free, total uint64
			if err := rows.Scan(&free, &total); err != nil {
				return err
			}
			m.free.Set(float64(free))
			m.total.Set(float64(total))
			return nil
		},
	)
}

// eachRow runs a background query and calls each for every row.
func (db *DB) eachRow(ctx context.Context, statement string, each func(driver.Rows) error) error {
	rows, err := db.conn.Query(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err returns its error
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
