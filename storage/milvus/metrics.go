package milvus

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Names of operations in metrics and spans.
const (
	opCreate          = "create_collection"
	opDescribe        = "describe_collection"
	opLoad            = "load_collection"
	opDrop            = "drop_collection"
	opAlias           = "alias"
	opUpsert          = "upsert"
	opDelete          = "delete"
	opDeleteWorkspace = "delete_workspace"
	opSearch          = "search"
	opCount           = "count"
	opList            = "list"
	opFlush           = "flush"
)

var operations = []string{
	opCreate, opDescribe, opLoad, opDrop, opAlias, opUpsert, opDelete, opDeleteWorkspace, opSearch, opCount, opList,
	opFlush,
}

// Kinds of errors in metrics.
const (
	kindTimeout      = "timeout"
	kindNoCollection = "missing"    // no such collection
	kindOverloaded   = "overloaded" // rate limit exceeded
	kindRefused      = "refused"    // any other error that the server returned
	kindUnavailable  = "unavailable"
	kindCancelled    = "cancelled" // by the caller
)

var errorKinds = []string{kindTimeout, kindNoCollection, kindOverloaded, kindRefused, kindUnavailable, kindCancelled}

// Metrics contains the metrics of this process's connections.
type Metrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	entries  *prometheus.CounterVec
}

// NewMetrics creates the metrics and registers them unless registerer is nil.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	m := &Metrics{
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_milvus_operation_duration_seconds",
			Help:    "Duration of Milvus operations in seconds, including retries and failed ones.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}, []string{"operation"}),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_milvus_errors_total",
			Help: "Total number of failed operations by kind: timeout, missing (no such collection), overloaded (rate limit " +
				"exceeded), refused (any other server error), unavailable (no response), cancelled (by the caller).",
		}, []string{"operation", "kind"}),
		entries: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_milvus_entries_total", Help: "Total number of vectors written, or deleted by key, by operation.",
		}, []string{"operation"}),
	}
	for _, operation := range operations {
		m.duration.WithLabelValues(operation)
		for _, kind := range errorKinds {
			m.errors.WithLabelValues(operation, kind)
		}
	}
	for _, operation := range []string{opUpsert, opDelete} {
		m.entries.WithLabelValues(operation)
	}
	return m
}

// observe records a finished operation.
func (m *Metrics) observe(operation string, began time.Time, err error) {
	m.duration.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	if err != nil {
		m.errors.WithLabelValues(operation, errorKind(err)).Inc()
	}
}

// count adds to the number of written or deleted entries.
func (m *Metrics) count(operation string, entries int) {
	m.entries.WithLabelValues(operation).Add(float64(entries))
}

func errorKind(err error) string {
	var (
		r  *serverError
		fe *fault.Error
	)
	switch {
	case errors.Is(err, ErrNoCollection):
		return kindNoCollection
	case errors.As(err, &fe): // such as a collection with another schema
		return kindRefused
	case errors.As(err, &r):
		if r.rateLimited() {
			return kindOverloaded
		}
		return kindRefused
	case errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled:
		return kindCancelled
	case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
		return kindTimeout
	}
	return kindUnavailable
}
