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

// Limits of the listener of metrics.
const (
	metricsHeaderTimeout = 5 * time.Second
	// metricsWriteTimeout is longer than the longest profile or trace that is
	// of use, which net/http/pprof refuses to begin if it would not fit.
	metricsWriteTimeout = 5 * time.Minute
	metricsIdleTimeout  = 2 * time.Minute
	metricsShutdown     = 500 * time.Millisecond
	scrapeTimeout       = 5 * time.Second
	// scrapesAtOnce bounds what scrapers can cost; the next is told 503.
	scrapesAtOnce = 4
)

// NewRegistry creates the registry of a process, with what is known of it from the
// start: the build, its roles, the Go runtime, the operating system's figures.
func NewRegistry(version string, roles []string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	factory := promauto.With(registry)
	factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_build_info", Help: "1, with the version of Livegraph and of the Go that built it.",
	}, []string{"version", "go_version"}).WithLabelValues(version, runtime.Version()).Set(1)
	role := factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_role_info", Help: "1 for each role of the process.",
	}, []string{"role"})
	for _, name := range roles {
		role.WithLabelValues(name).Set(1)
	}
	return registry
}

// MetricsHandler answers /metrics out of the registry and /debug/pprof/. The command line
// is left out of that: secrets may have been given by flags.
func MetricsHandler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(
		"GET /metrics",
		promhttp.InstrumentMetricHandler(registry, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			// What can be gathered is served; what cannot is counted and logged.
			ErrorHandling:       promhttp.ContinueOnError,
			ErrorLog:            scrapeLog{},
			Registry:            registry,
			MaxRequestsInFlight: scrapesAtOnce,
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

// scrapeLog logs what a scrape could not gather.
type scrapeLog struct{}

// Println implements promhttp.Logger.
func (scrapeLog) Println(v ...any) { slog.Error("gathering metrics", "problem", fmt.Sprint(v...)) }

// ServeMetrics answers on the listener until ctx is done. The listener is closed
// when it returns.
func ServeMetrics(ctx context.Context, listener net.Listener, registry *prometheus.Registry) error {
	server := &http.Server{
		Handler:           MetricsHandler(registry),
		ReadHeaderTimeout: metricsHeaderTimeout,
		ReadTimeout:       metricsHeaderTimeout,
		WriteTimeout:      metricsWriteTimeout,
		IdleTimeout:       metricsIdleTimeout,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving metrics: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), metricsShutdown)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close() // a profile that still runs
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}
