package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// statements maps the first word of a statement to its label in metrics. All other
// statements have the label otherStatement.
var statements = map[string]string{
	"SELECT": "select", "INSERT": "insert", "UPDATE": "update", "DELETE": "delete", "WITH": "with",
	"BEGIN": "begin", "COMMIT": "commit", "ROLLBACK": "rollback",
}

// Labels of statements and of error kinds in metrics.
const (
	otherStatement  = "other"
	kindTimeout     = "timeout"
	kindUnavailable = "unavailable" // not reachable, overloaded, or a conflict that is retried
	kindCancelled   = "cancelled"   // by the caller
	kindRejected    = "rejected"    // by the database because of the statement, mostly by constraints
)

var errorKinds = []string{kindTimeout, kindUnavailable, kindCancelled, kindRejected}

// Metrics has the metrics of this process's connection pools. Each pool has a name.
type Metrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	connects *prometheus.CounterVec

	mu    sync.Mutex
	pools map[string]*pgxpool.Pool
}

// NewMetrics creates the metrics and registers them unless registerer is nil.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	m := &Metrics{
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_postgres_statement_duration_seconds",
			Help:    "Duration of Postgres statements in seconds, including failed ones, by the first word of the statement.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 12),
		}, []string{"statement"}),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_postgres_errors_total",
			Help: "Total number of failed statements by kind: timeout, unavailable (not reachable, overloaded, or a conflict " +
				"that is retried), cancelled (by the caller), rejected (mostly by constraints).",
		}, []string{"kind"}),
		connects: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_postgres_connect_failures_total", Help: "Total number of failed connection attempts by pool.",
		}, []string{"pool"}),
		pools: map[string]*pgxpool.Pool{},
	}
	for _, kind := range errorKinds {
		m.errors.WithLabelValues(kind)
	}
	for _, statement := range statements {
		m.duration.WithLabelValues(statement)
	}
	if registerer != nil {
		registerer.MustRegister(m)
	}
	return m
}

// Option configures how a DB is opened.
type Option func(*openOptions)

type openOptions struct {
	metrics   *Metrics
	pool      string
	tracer    tracing.Tracer
	directURL string
	replica   bool
}

// WithMetrics records the metrics of the DB in m under the name of its pool: main, keys, commands or replica.
func WithMetrics(m *Metrics, pool string) Option {
	return func(o *openOptions) { o.metrics, o.pool = m, pool }
}

// setTracer sets the pgx tracer that records metrics and traces of the connections.
func (o *openOptions) setTracer(cfg *pgxpool.Config) {
	var tracers []pgx.QueryTracer
	if o.metrics != nil {
		o.metrics.connects.WithLabelValues(o.pool)
		tracers = append(tracers, &metricsTracer{metrics: o.metrics, pool: o.pool})
	}
	if o.tracer.Enabled() {
		tracers = append(tracers, queryTracer{o.tracer})
	}
	switch len(tracers) {
	case 0:
	case 1:
		cfg.ConnConfig.Tracer = tracers[0]
	default:
		cfg.ConnConfig.Tracer = multitracer.New(tracers...)
	}
}

// addPool adds an open pool to the metrics.
func (o *openOptions) addPool(pool *pgxpool.Pool) {
	if o.metrics == nil {
		return
	}
	o.metrics.mu.Lock()
	defer o.metrics.mu.Unlock()
	o.metrics.pools[o.pool] = pool
}

// metricsTracer is a pgx tracer: pgx calls it around each statement and connection.
type metricsTracer struct {
	metrics *Metrics
	pool    string
}

type statementKey struct{}

type runningStatement struct {
	name      string
	startedAt time.Time
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *metricsTracer) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData,
) context.Context {
	return context.WithValue(ctx, statementKey{}, runningStatement{name: statementName(data.SQL), startedAt: time.Now()})
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *metricsTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	s, ok := ctx.Value(statementKey{}).(runningStatement)
	if !ok {
		return
	}
	t.metrics.duration.WithLabelValues(s.name).Observe(time.Since(s.startedAt).Seconds())
	if data.Err != nil {
		t.metrics.errors.WithLabelValues(errorKind(data.Err)).Inc()
	}
}

// TraceConnectStart implements pgx.ConnectTracer.
func (*metricsTracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

// TraceConnectEnd implements pgx.ConnectTracer.
func (t *metricsTracer) TraceConnectEnd(_ context.Context, data pgx.TraceConnectEndData) {
	if data.Err != nil {
		t.metrics.connects.WithLabelValues(t.pool).Inc()
	}
}

func statementName(sql string) string {
	word := strings.TrimLeft(sql, " \t\n\r(")
	if end := strings.IndexAny(word, " \t\n\r(;"); end >= 0 {
		word = word[:end]
	}
	const longest = len("ROLLBACK")
	if len(word) <= longest {
		if name, known := statements[strings.ToUpper(word)]; known {
			return name
		}
	}
	return otherStatement
}

func errorKind(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return kindCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return kindTimeout
	}
	switch fault.KindOf(Classify(err)) {
	case fault.Timeout:
		return kindTimeout
	case fault.Unavailable:
		return kindUnavailable
	}
	return kindRejected
}

var (
	poolLabel = []string{"pool"}
	openDesc  = prometheus.NewDesc(
		"livegraph_postgres_connections",
		"Number of open connections by pool: main, keys (only for key checks), commands (only for their decision), replica.",
		poolLabel, nil,
	)
	inUseDesc = prometheus.NewDesc(
		"livegraph_postgres_connections_in_use", "Number of connections in use by pool.", poolLabel, nil,
	)
	limitDesc = prometheus.NewDesc(
		"livegraph_postgres_connections_limit",
		"Maximum number of connections by pool. When it is reached, callers wait.",
		poolLabel, nil,
	)
	waitsDesc = prometheus.NewDesc(
		"livegraph_postgres_connection_waits_total",
		"Total number of times that a caller had to wait for a connection, by pool.",
		poolLabel, nil,
	)
	waitTimeDesc = prometheus.NewDesc(
		"livegraph_postgres_connection_wait_seconds_total",
		"Total time that callers waited for connections in seconds, by pool.",
		poolLabel,
		nil,
	)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{openDesc, inUseDesc, limitDesc, waitsDesc, waitTimeDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, pool := range m.pools {
		s := pool.Stat()
		gauge := func(d *prometheus.Desc, value int32) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), name)
		}
		gauge(openDesc, s.TotalConns())
		gauge(inUseDesc, s.AcquiredConns())
		gauge(limitDesc, s.MaxConns())
		ch <- prometheus.MustNewConstMetric(waitsDesc, prometheus.CounterValue, float64(s.EmptyAcquireCount()), name)
		ch <- prometheus.MustNewConstMetric(waitTimeDesc, prometheus.CounterValue, s.EmptyAcquireWaitTime().Seconds(), name)
	}
}
