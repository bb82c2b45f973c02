package process

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

// prober makes the process's look at its engines. To Redis it connects anew, because not
// every role has a connection of its own.
func (p *Process) prober(registerer prometheus.Registerer) (*telemetry.Prober, error) {
	redis, err := stores.RedisCheck(p.Cfg.Redis)
	if err != nil {
		return nil, err
	}
	probes := []telemetry.Probe{
		{Engine: "postgres", Check: p.Postgres.Ping},
		{Engine: "clickhouse", Check: p.Clickhouse.Ping},
		{Engine: "kafka", Check: p.Kafka.Ping},
	}
	if p.Cfg.Redis.URL != "" {
		probes = append(probes, telemetry.Probe{Engine: "redis", Check: redis})
	}
	if p.Milvus != nil {
		probes = append(probes, telemetry.Probe{Engine: "milvus", Check: p.Milvus.Ping})
	}
	if p.Embedder != nil && p.Cfg.Embedder.Remote() {
		probes = append(probes, telemetry.Probe{Engine: "embedder", Check: p.Embedder.Ping})
	}
	return telemetry.NewProber(registerer, probes...), nil
}
