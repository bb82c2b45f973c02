package process

import (
	"github.com/livegraph/livegraph/internal/app/stores"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

// addEngineProbes adds the component that checks for the metrics whether the engines
// answer. It connects to Redis for each check, because not every role has a connection.
func (b *builder) addEngineProbes() error {
	redis, err := stores.RedisCheck(b.Config.Redis)
	if err != nil {
		return err
	}
	probes := []telemetry.Probe{
		{Engine: "postgres", Check: b.Postgres.Ping},
		{Engine: "clickhouse", Check: b.ClickHouse.Ping},
		{Engine: "kafka", Check: b.Kafka.Ping},
	}
	if b.Config.Redis.URL != "" {
		probes = append(probes, telemetry.Probe{Engine: "redis", Check: redis})
	}
	if b.Milvus != nil {
		probes = append(probes, telemetry.Probe{Engine: "milvus", Check: b.Milvus.Ping})
	}
	if b.Embedder != nil && b.Config.Embedder.Remote() {
		probes = append(probes, telemetry.Probe{Engine: "embedder", Check: b.Embedder.Ping})
	}
	b.add("engine probes", telemetry.NewProber(b.Metrics, probes...).Run)
	return nil
}
