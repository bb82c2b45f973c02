package auth

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Outcomes of a check.
const (
	valid       = "valid"
	malformed   = "malformed" // wrong format or checksum
	unknown     = "unknown"
	revoked     = "revoked"
	expired     = "expired"
	unavailable = "unavailable" // the key could not be looked up
)

// metrics of an authenticator.
type metrics struct {
	checks        map[string]prometheus.Counter // by outcome
	hit           prometheus.Counter
	miss          prometheus.Counter
	writeFailures prometheus.Counter
}

// Register registers the metrics of the authenticator; with nil it does nothing. It must be
// called at most once.
func (a *Authenticator) Register(registerer prometheus.Registerer) {
	if registerer != nil {
		a.metrics = newMetrics(a, registerer)
	}
}

func newMetrics(a *Authenticator, registerer prometheus.Registerer) metrics {
	factory := promauto.With(registerer)
	checks := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_auth_checks_total", Help: "Total number of key checks by outcome.",
	}, []string{"outcome"})
	lookups := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_auth_cache_lookups_total",
		Help: "Total number of lookups in the key cache by result: hit (the key was cached), miss (Postgres was queried).",
	}, []string{"result"})
	m := metrics{
		checks: map[string]prometheus.Counter{}, hit: lookups.WithLabelValues("hit"), miss: lookups.WithLabelValues("miss"),
		writeFailures: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_auth_use_write_failures_total",
			Help: "Total number of failures to store the times of the last use of keys. The times are kept and the write is " +
				"retried.",
		}),
	}
	for _, outcome := range []string{valid, malformed, unknown, revoked, expired, unavailable} {
		m.checks[outcome] = checks.WithLabelValues(outcome)
	}
	if a == nil {
		return m
	}
	for name, c := range map[string]*cache{"known": a.knownKeys, "unknown": a.unknownKeys} {
		factory.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "livegraph_auth_cache_entries",
			Help: "Number of entries in the key cache, by cache: known (existing keys), unknown (strings that are not " +
				"a key).",
			ConstLabels: prometheus.Labels{"cache": name},
		}, func() float64 { return float64(c.EstimatedSize()) })
	}
	if a.peers != nil {
		factory.NewCounterFunc(prometheus.CounterOpts{
			Name: "livegraph_auth_revisions_heard_total",
			Help: "Total number of reports received through Redis from other processes on whether keys or workspaces have " +
				"changed.",
		}, func() float64 { return float64(a.peers.received.Load()) })
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_auth_fresh",
		Help: "1 if keys may be checked against the cache, 0 if for one second neither Postgres nor, through Redis, " +
			"another process has confirmed that nothing changed.",
	}, func() float64 {
		if a.fresh() {
			return 1
		}
		return 0
	})
	return m
}
