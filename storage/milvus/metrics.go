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

// Operations, as metrics and spans name them.
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

// Kinds of errors, as metrics name them.
const (
	kindTimeout      = "timeout"
	kindNoCollection = "missing"    // the collection
	kindOverloaded   = "overloaded" // asked too often
	kindRefused      = "refused"    // anything else that the server says
	kindUnavailable  = "unavailable"
	kindCancelled    = "cancelled" // the caller left
)

var errorKinds = []string{kindTimeout, kindNoCollection, kindOverloaded, kindRefused, kindUnavailable, kindCancelled}

// Metrics are what the connections of this process measure.
type Metrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	entries  *prometheus.CounterVec
}

// NewMetrics creates and registers them; nil: they are not registered.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	m := &Metrics{
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_milvus_operation_duration_seconds",
			Help:    "Time of an operation on Milvus, repetitions and failed ones included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}, []string{"operation"}),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_milvus_errors_total",
			Help: "Operations that failed, by kind: timeout, missing (the collection), overloaded (asked too often), " +
				"refused (anything else the server says), unavailable (no answer), cancelled (the caller left).",
		}, []string{"operation", "kind"}),
		entries: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_milvus_entries_total", Help: "Vectors that were written or deleted by key, by operation.",
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

// observe adds an operation that is over.
func (m *Metrics) observe(operation string, began time.Time, err error) {
	m.duration.WithLabelValues(operation).Observe(time.Since(began).Seconds())
	if err != nil {
		m.errors.WithLabelValues(operation, errorKind(err)).Inc()
	}
}

// count adds entries that were written or deleted.
func (m *Metrics) count(operation string, entries int) {
	m.entries.WithLabelValues(operation).Add(float64(entries))
}

func errorKind(err error) string {
	var (
		r  *refusal
		fe *fault.Error
	)
	switch {
	case errors.Is(err, ErrNoCollection):
		return kindNoCollection
	case errors.As(err, &fe): // what is there is of another make
		return kindRefused
	case errors.As(err, &r):
		if r.tooOften() {
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
