package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	probeInterval = 5 * time.Second
	probeTimeout  = 2 * time.Second
)

// Probe checks the availability of one engine.
type Probe struct {
	Engine string // of a closed set: "kafka", "clickhouse", …
	Check  func(ctx context.Context) error
}

// Prober probes engines in the background, so that no scrape waits for an engine that
// hangs.
type Prober struct {
	probes   []Probe
	up       *prometheus.GaugeVec
	duration *prometheus.GaugeVec
	failures *prometheus.CounterVec
}

// NewProber creates a Prober. The caller must call Run.
func NewProber(registerer prometheus.Registerer, probes ...Probe) *Prober {
	factory := promauto.With(registerer)
	engine := []string{"engine"}
	p := &Prober{
		probes: probes,
		up: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_engine_up",
			Help: "1 if the engine answered the last probe in time, otherwise 0. Each probe of Redis opens and authenticates " +
				"a new connection. A probe of an embedder requests its list of models.",
		}, engine),
		duration: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_engine_probe_duration_seconds",
			Help: "Duration of the last probe of the engine in seconds, successful or not.",
		}, engine),
		failures: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_engine_probe_failures_total",
			Help: "Total number of probes that the engine did not answer in time.",
		}, engine),
	}
	for _, probe := range probes {
		p.failures.WithLabelValues(probe.Engine)
	}
	return p
}

// Run probes each engine every 5 seconds, one probe at a time, until ctx is done.
func (p *Prober) Run(ctx context.Context) error {
	var work sync.WaitGroup
	for _, probe := range p.probes {
		work.Go(func() {
			tick := time.NewTicker(probeInterval)
			defer tick.Stop()
			for {
				p.probe(ctx, probe)
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	work.Wait()
	return nil
}

func (p *Prober) probe(ctx context.Context, probe Probe) {
	probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	start := time.Now()
	err := probe.Check(probeCtx)
	if ctx.Err() != nil {
		return // cancelled by the shutdown of the process, not failed by the engine
	}
	p.duration.WithLabelValues(probe.Engine).Set(time.Since(start).Seconds())
	up := 1.0
	if err != nil {
		up = 0
		p.failures.WithLabelValues(probe.Engine).Inc()
	}
	p.up.WithLabelValues(probe.Engine).Set(up)
}
