package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the metrics listener.
const (
	metricsHeaderTimeout = 5 * time.Second
	// metricsWriteTimeout is longer than any useful profile or trace, because
	// net/http/pprof rejects those that exceed it.
	metricsWriteTimeout = 5 * time.Minute
	metricsIdleTimeout  = 2 * time.Minute
	metricsShutdown     = 500 * time.Millisecond
	scrapeTimeout       = 5 * time.Second
	// maxScrapes limits concurrent scrapes; further ones get status 503.
	maxScrapes = 4
)

// NewRegistry creates the registry of a process with the metrics of the build, the
// roles, the Go runtime and the operating system process.
func NewRegistry(version string, roles []string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	factory := promauto.With(registry)
	factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_build_info",
		Help: "Version of Livegraph and of the Go release that built it. The value is always 1.",
	}, []string{"version", "go_version"}).WithLabelValues(version, runtime.Version()).Set(1)
	role := factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_role_info", Help: "Roles of the process. The value is always 1.",
	}, []string{"role"})
	for _, name := range roles {
		role.WithLabelValues(name).Set(1)
	}
	return registry
}

// MetricsHandler serves /metrics from the registry, and /debug/pprof/ except for the command
// line, because flags may contain secrets.
func MetricsHandler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(
		"GET /metrics",
		promhttp.InstrumentMetricHandler(registry, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			// Serve the metrics that can be gathered; count and log errors of the others.
			ErrorHandling:       promhttp.ContinueOnError,
			ErrorLog:            scrapeLog{},
			Registry:            registry,
			MaxRequestsInFlight: maxScrapes,
			Timeout:             scrapeTimeout,
			EnableOpenMetrics:   true,
		})),
	)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(
			`<title>Livegraph</title><a href="/metrics">metrics</a>, <a href="/debug/pprof/">profiles</a>` + "\n",
		))
	})
	return mux
}

// scrapeLog logs errors of gathering metrics.
type scrapeLog struct{}

// Println implements promhttp.Logger.
func (scrapeLog) Println(v ...any) { slog.Error("gathering metrics", "problem", fmt.Sprint(v...)) }

// ServeMetrics serves metrics on the listener until ctx is done. It closes the listener
// before it returns.
func ServeMetrics(ctx context.Context, listener net.Listener, registry *prometheus.Registry) error {
	server := &http.Server{
		Handler:           MetricsHandler(registry),
		ReadHeaderTimeout: metricsHeaderTimeout,
		ReadTimeout:       metricsHeaderTimeout,
		WriteTimeout:      metricsWriteTimeout,
		IdleTimeout:       metricsIdleTimeout,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	serveErr := make(chan error, 1)
	go func() { serveErr <- server.Serve(listener) }()
	select {
	case err := <-serveErr:
		return fmt.Errorf("serving metrics: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), metricsShutdown)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // a profile is still running
	}
	if err := <-serveErr; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}
