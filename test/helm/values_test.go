package helm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAWrongValueIsRefusedByName covers what the schema refuses and what the templates refuse.
func TestAWrongValueIsRefusedByName(t *testing.T) {
	for _, wrong := range []struct{ change, want string }{
		// The schema: unknown names, types, formats.
		{`replicaCount: 3`, `additional properties 'replicaCount'`},
		{`{api: {replica: 3}}`, `at '/api': additional properties 'replica'`},
		{`{points: {persistence: {enabled: true}}}`, `at '/points': additional properties 'persistence'`},
		{`{api: {replicas: "3"}}`, `at '/api/replicas': got string, want integer`},
		{`{api: {replicas: 0}}`, `at '/api/replicas'`},
		{`{image: {pullPolicy: Sometimes}}`, `at '/image/pullPolicy'`},
		{`{image: {digest: "sha256:12"}}`, `at '/image/digest'`},
		{`{kafka: {brokers: kafka:9092}}`, `at '/kafka/brokers': got string, want array`},
		{`{kafka: {brokers: ["kafka"]}}`, `at '/kafka/brokers/0'`},
		{`{kafka: {replication: 0}}`, `at '/kafka/replication'`},
		{`{kafka: {sasl: {mechanism: oauth}}}`, `at '/kafka/sasl/mechanism'`},
		{`{kafka: {sasl: {password: secret}}}`, `at '/kafka/sasl': additional properties 'password'`},
		{`{clickhouse: {url: "mysql://clickhouse:9000/livegraph"}}`, `at '/clickhouse/url'`},
		{`{clickhouse: {url: "clickhouse://livegraph:secret@clickhouse:9000/livegraph"}}`, `at '/clickhouse/url'`},
		{`{postgres: {url: "postgres://livegraph:secret@postgres/livegraph"}}`, `at '/postgres/url'`},
		{`{redis: {url: "redis://:secret@redis:6379/0"}}`, `at '/redis/url'`},
		{`{redis: {url: "redis-sentinel://u:secret@s1:26379,s2:26379?master=m"}}`, `at '/redis/url'`},
		{`{redis: {url: "redis-replica://redis:6379"}}`, `at '/redis/url'`},
		{`{redis: {sentinel: {password: secret}}}`, `at '/redis/sentinel': additional properties 'password'`},
		{`{postgres: {url: "postgres://$(HOME)@postgres/livegraph"}}`, `at '/postgres/url'`},
		{`{postgres: {tls: {mode: strict}}}`, `at '/postgres/tls/mode'`},
		{`{milvus: {address: milvus}}`, `at '/milvus/address'`},
		{`{milvus: {token: secret}}`, `at '/milvus': additional properties 'token'`},
		{`{embedder: {url: dynamic}}`, `at '/embedder/url'`},
		{`{points: {resources: {limits: {memory: lots}}}}`, `at '/points/resources/limits/memory'`},
		{`{points: {resources: {limits: {memory: null}}}}`, `at '/points/resources/limits': missing property 'memory'`},
		{`{points: {resources: {request: {}}}}`, `at '/points/resources': additional properties 'request'`},
		{`{settings: {LOG_LEVEL: debug}}`, `at '/settings': additional properties 'LOG_LEVEL'`},
		{`{settings: {LIVEGRAPH_LOG_LEVEL: [debug]}}`, `at '/settings/LIVEGRAPH_LOG_LEVEL'`},
		{`{secretSettings: {LIVEGRAPH_TRACING_HEADERS: text}}`, `at '/secretSettings/LIVEGRAPH_TRACING_HEADERS'`},
		{`{api: {trustedProxies: ["10.0.0.1"]}}`, `at '/api/trustedProxies/0'`},
		{`{api: {publicURL: livegraph.example.com}}`, `at '/api/publicURL'`},
		{`{networkPolicy: {metrics: {from: [{namespace: monitoring}]}}}`, `at '/networkPolicy/metrics/from/0'`},
		{`{networkPolicy: {metrics: {from: [{}]}}}`, `at '/networkPolicy/metrics/from/0'`},
		{`{ingress: {enabled: true, hosts: ["https://livegraph.example.com"]}}`, `at '/ingress/hosts/0'`},
		{`{operators: {kafka: {enabled: true, replicas: 1}}}`, `at '/operators/kafka/replicas'`},
		{`{operators: {redis: {enabled: true}}}`, `at '/operators': additional properties 'redis'`},
		// The templates: what belongs together.
		{`{kafka: {brokers: []}}`, `kafka.brokers: is required`},
		{`{clickhouse: {url: ""}}`, `clickhouse.url: is required`},
		{`{postgres: {url: ""}}`, `postgres.url: is required`},
		{`{redis: {url: ""}}`, `redis.url: is required`},
		{`{milvus: {address: ""}}`, `milvus.address: is required`},
		{`{postgres: {urlSecret: {name: login}}}`, `postgres.urlSecret.name: set either this or postgres.url`},
		{`{redis: {url: "", urlSecret: {name: a}, passwordSecret: {name: b}}}`, `redis.passwordSecret.name: `},
		{`{redis: {sentinel: {passwordSecret: {name: a}}}}`, `redis.sentinel: is for redis.url as redis-sentinel://`},
		{`{redis: {sentinel: {username: a}}}`, `redis.sentinel.passwordSecret.name: is required with`},
		{`{embedder: {url: "https://embedder/v1"}}`, `embedder.model and embedder.dimensions: are required`},
		{`{kafka: {tls: {certSecret: client}}}`, `kafka.tls.enabled: must be true`},
		{`{kafka: {sasl: {mechanism: plain, username: livegraph}}}`, `kafka.sasl: a mechanism requires`},
		{`{points: {autoscaling: {maxReplicas: 9}}}`, `points.autoscaling.maxReplicas: 9 is more than kafka.pointsPart`},
		{`{audit: {replicas: 9, autoscaling: {enabled: false}}}`, `audit.replicas: 9 is more than kafka.commandsPartitions`},
		{`{commands: {autoscaling: {minReplicas: 5}}}`, `commands.autoscaling.maxReplicas: 4 is less than minReplicas, 5`},
		{`{api: {autoscaling: {cpu: 0}}}`, `api.autoscaling: enable cpu or lag`},
		{`{points: {resources: {limits: {memory: "1.5Gi"}}}}`, `points.resources.limits.memory: "1.5Gi" is not a`},
		{`{settings: {LIVEGRAPH_LOG_LEVELS: debug}}`, `settings.LIVEGRAPH_LOG_LEVELS: is not a setting`},
		{`{points: {settings: {LIVEGRAPH_POINT_GROUP: a}}}`, `points.settings.LIVEGRAPH_POINT_GROUP: is not a setting`},
		{`{settings: {LIVEGRAPH_REDIS_URL: "redis://a"}}`, `settings.LIVEGRAPH_REDIS_URL: the chart sets it`},
		{`{api: {settings: {LIVEGRAPH_ROLES: all}}}`, `api.settings.LIVEGRAPH_ROLES: the chart sets it`},
		{`{settings: {LIVEGRAPH_KAFKA_TLS_CA: /ca}}`, `settings.LIVEGRAPH_KAFKA_TLS_CA: the chart sets it`},
		{`{settings: {LIVEGRAPH_TRACING_HEADERS: a=b}}`, `settings.LIVEGRAPH_TRACING_HEADERS: is a secret`},
		{`{secretSettings: {LIVEGRAPH_TRACING: {name: a, key: b}}}`, `secretSettings.LIVEGRAPH_TRACING: is not a setting`},
		{`{secretSettings: {LIVEGRAPH_MILVUS_TOKEN: {name: a, key: b}}}`, `secretSettings.LIVEGRAPH_MILVUS_TOKEN: the chart`},
		{`{preStopSeconds: 17}`, `terminationGracePeriodSeconds: must exceed preStopSeconds by more than 13`},
		{`{ingress: {enabled: true}}`, `ingress.hosts: is required`},
		{`{operators: {clickhouse: {enabled: true}}}`, `operators.clickhouse.passwordSecret.name: is required`},
		{`{operators: {postgres: {enabled: true, maxConnections: 100}}}`, `operators.postgres.maxConnections: 100 is less`},
	} {
		_, err := render(load(t), valuesOf(t, "minimum", wrong.change))
		require.ErrorContains(t, err, wrong.want, wrong.change)
		require.NotContains(t, err.Error(), "nil pointer", wrong.change)
	}
}

// schemaNode is a part of values.schema.json.
type schemaNode struct {
	Ref        string                `json:"$ref"`
	Properties map[string]schemaNode `json:"properties"`
}

// TestEveryValueOfTheSchemaHasADefault compares values.schema.json with values.yaml, which documents the
// values. The other direction is part of every rendering.
func TestEveryValueOfTheSchemaHasADefault(t *testing.T) {
	var root struct {
		schemaNode
		Definitions map[string]schemaNode `json:"definitions"`
	}
	loaded := load(t)
	require.NoError(t, json.Unmarshal(loaded.Schema, &root))
	optional := []string{ // passed on to Kubernetes
		"global", "claims", "initialDelaySeconds", "successThreshold",
	}
	var compare func(path string, node schemaNode, values map[string]any)
	compare = func(path string, node schemaNode, values map[string]any) {
		if node.Ref != "" {
			node = root.Definitions[strings.TrimPrefix(node.Ref, "#/definitions/")]
		}
		for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
			if slices.Contains(optional, name) {
				continue
			}
			require.Contains(t, values, name, "%s.%s has no default in values.yaml", path, name)
			if inner, ok := values[name].(map[string]any); ok {
				compare(path+"."+name, node.Properties[name], inner)
			}
		}
	}
	compare("", root.schemaNode, loaded.Values)
}

func TestEveryPartOfTheValuesHasAComment(t *testing.T) {
	lines := strings.Split(read(t, chartPath+"/values.yaml"), "\n")
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "#") {
			continue
		}
		// A value is below a comment, or in a group without an empty line between.
		first := i
		for first > 0 && lines[first-1] != "" {
			first--
		}
		commented := strings.HasPrefix(lines[first], "#")
		consumer := slices.Contains([]string{"points:", "commands:", "embeddings:", "audit:"}, line)
		engine := slices.Contains([]string{"clickhouse:", "postgres:", "redis:", "milvus:", "embedder:"}, line)
		require.True(t, commented || consumer || engine, "values.yaml:%d: %s has no comment", i+1, line)
	}
}
