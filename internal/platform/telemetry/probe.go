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

// Probe is how one engine is asked for a sign of life.
type Probe struct {
	Engine string // of a closed set: "kafka", "clickhouse", …
	Check  func(ctx context.Context) error
}

// Prober asks engines for signs of life in the background, so that no scrape has
// to wait for an engine that hangs.
type Prober struct {
	probes []Probe
	up     *prometheus.GaugeVec
	took   *prometheus.GaugeVec
	failed *prometheus.CounterVec
}

// NewProber creates a prober. Somebody has to call Run.
func NewProber(registerer prometheus.Registerer, probes ...Probe) *Prober {
	factory := promauto.With(registerer)
	engine := []string{"engine"}
	p := &Prober{
		probes: probes,
		up: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_engine_up",
			Help: "1 if the engine answered the last probe in time, else 0. Each probe of Redis logs in anew, an embedder is " +
				"asked for its list of models.",
		}, engine),
		took: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_engine_probe_duration_seconds",
			Help: "How long the last probe of the engine took, successful or not.",
		}, engine),
		failed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_engine_probe_failures_total", Help: "Probes that the engine did not answer in time.",
		}, engine),
	}
	for _, probe := range probes {
		p.failed.WithLabelValues(probe.Engine)
	}
	return p
}

// Run probes every few seconds until ctx is done. Each engine has at most one
// probe at a time.
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
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := time.Now()
	err := probe.Check(limited)
	if ctx.Err() != nil {
		return // the end of the process says nothing of the engine
	}
	p.took.WithLabelValues(probe.Engine).Set(time.Since(began).Seconds())
	up := 1.0
	if err != nil {
		up = 0
		p.failed.WithLabelValues(probe.Engine).Inc()
	}
	p.up.WithLabelValues(probe.Engine).Set(up)
}
